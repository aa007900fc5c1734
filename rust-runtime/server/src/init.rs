//! `POST /init`: from a request to a package.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::error::Error;
use crate::package::{Package, PackageError};

#[derive(Deserialize)]
struct Body {
    value: Value,
}

/// OpenWhisk's fields, and `path` for a package that is here already.
#[derive(Deserialize)]
struct Value {
    path: Option<PathBuf>,
    code: Option<String>,
}

/// Finds or unpacks the package a request names. Blocks on files.
pub(crate) fn package(body: &[u8]) -> Result<Package, Error> {
    let form = r#"the body is not {"value":{"path":…}} or {"value":{"code":…}}"#;
    let Body { value } = serde_json::from_slice(body)
        .map_err(|error| Error::Malformed(format!("{form}: {:?} error", error.classify())))?;
    let package = match (value.path, value.code) {
        (Some(path), None) => Package::at(&path),
        (None, Some(code)) => {
            let bytes = STANDARD
                .decode(code.trim())
                .map_err(|error| Error::Malformed(format!("`code` is not base64: {error}")))?;
            Package::unpack(&bytes)
        }
        _ => return Err(Error::Malformed(form.to_owned())),
    };
    package.map_err(|error| match error {
        PackageError::Io(_) => Error::Start(error.to_string()),
        _ => Error::Malformed(error.to_string()),
    })
}

//! Turns a request into a package: one that is sent, or one that is named by its path.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use axum::body::{Body as RequestBody, HttpBody};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::StreamReader;

use crate::concurrency::Concurrency;
use crate::error::Error;
use crate::invalid_request::InvalidRequest;
use crate::kind::Kind;
use crate::limits;
use crate::package::{Code, Package};

#[derive(Deserialize)]
struct Body {
    value: Value,
}

/// OpenWhisk's fields, and `path` for a package that is already here. Code is base64 unless `binary` is false.
#[derive(Deserialize)]
struct Value {
    path: Option<PathBuf>,
    code: Option<String>,
    binary: Option<bool>,
    #[serde(flatten)]
    program: ProgramName,
}

/// The kind of a program, the function to call in it, and how many calls it may run at once.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ProgramName {
    kind: Option<String>,
    main: Option<String>,
    /// Checked later, so that the error can state what is wrong with it.
    concurrency: Option<serde_json::Value>,
}

impl ProgramName {
    /// Takes the concurrency of `other` if this has none.
    fn or_concurrency_of(mut self, other: Self) -> Self {
        self.concurrency = self.concurrency.or(other.concurrency);
        self
    }

    fn code(self) -> Result<Code, InvalidRequest> {
        let kind = self.kind.as_deref().map(Kind::parse).transpose()?;
        let concurrency = self.concurrency.as_ref().map(Concurrency::try_from);
        Ok(Code {
            kind: kind.unwrap_or_default(),
            main: self.main.filter(|main| !main.is_empty()),
            concurrency: concurrency.transpose()?.unwrap_or_default(),
        })
    }
}

/// Finds or unpacks the package that a request names in its body; its query supplies a concurrency that the body does
/// not. Blocks on file I/O.
pub(crate) fn package(body: &[u8], query: ProgramName) -> Result<Package, Error> {
    let Body { value } =
        serde_json::from_slice(body).map_err(|error| InvalidRequest::Init(error.classify()))?;
    let program = value.program.or_concurrency_of(query);
    match (value.path, value.code) {
        (Some(path), None) => at(&path, program),
        (None, Some(code)) if value.binary == Some(false) => unpack(Cursor::new(code), program),
        (None, Some(code)) => {
            let bytes = STANDARD.decode(code.trim());
            let bytes = bytes.map_err(InvalidRequest::Base64)?;
            unpack(Cursor::new(bytes), program)
        }
        _ => Err(InvalidRequest::NoPackage.into()),
    }
}

/// Receives a package sent as a binary body, and writes it to disk as it arrives, because the pack's memory is for its
/// workers. The file has no name, and is deleted when it is closed.
pub(crate) async fn receive(body: RequestBody) -> Result<File, Error> {
    let too_large = Error::TooLarge {
        limit: (limits::PACKAGE >> 20) as usize,
    };
    if body.size_hint().lower() > limits::PACKAGE {
        return Err(too_large);
    }
    let bytes = body.into_data_stream().map_err(io::Error::other);
    let mut bytes = StreamReader::new(bytes).take(limits::PACKAGE + 1);
    let file = tempfile::tempfile().map_err(Error::Arrival)?;
    let mut file = tokio::fs::File::from_std(file);
    let length = tokio::io::copy_buf(&mut bytes, &mut file)
        .await
        .map_err(Error::Arrival)?;
    if length > limits::PACKAGE {
        return Err(too_large);
    }
    // Waits for pending writes to the disk.
    file.rewind().await.map_err(Error::Arrival)?;
    Ok(file.into_std().await)
}

/// Unpacks a zip, a bare executable or a source file. Blocks on file I/O.
pub(crate) fn unpack(bytes: impl Read + Seek, program: ProgramName) -> Result<Package, Error> {
    Ok(Package::unpack(bytes, program.code()?)?)
}

/// Finds the package in a directory. Blocks on file I/O.
pub(crate) fn at(path: &Path, program: ProgramName) -> Result<Package, Error> {
    Ok(Package::at(path, program.code()?)?)
}

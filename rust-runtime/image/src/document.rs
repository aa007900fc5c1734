//! The documents of an image, as far as they matter here, by version 1.1 of the Open Container Initiative's image
//! specification.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Error, InvalidImage};

/// The platform that an image is made for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Platform {
    pub(crate) os: String,
    pub(crate) architecture: String,
}

impl Platform {
    /// Returns this machine's platform.
    pub(crate) fn here() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            os: "linux".to_owned(),
            architecture: architecture.to_owned(),
        }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

/// A reference to a blob: its type, digest and size.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    pub(crate) platform: Option<Platform>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Index {
    pub(crate) manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) config: Descriptor,
    /// From the lowest to the highest.
    pub(crate) layers: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Configuration {
    #[serde(flatten)]
    pub(crate) platform: Platform,
    pub(crate) config: Option<Defaults>,
}

/// The defaults for containers of the image.
#[derive(Debug, Deserialize)]
pub(crate) struct Defaults {
    #[serde(rename = "Labels")]
    pub(crate) labels: Option<BTreeMap<String, String>>,
}

/// Parses a document; `what` names it in errors.
pub(crate) fn read<T: DeserializeOwned>(what: &str, document: &[u8]) -> Result<T, Error> {
    let read = serde_json::from_slice(document);
    read.map_err(|reason| {
        let what = what.to_owned();
        InvalidImage::Unsound { what, reason }.into()
    })
}

//! Where a new crate gets the SDK from. The SDK is not published yet, so the distribution carries its sources.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Error;

/// The crate's name; that of its library is `burst`.
const CRATE: &str = "burst-compute";
/// Where the SDK is in a checkout.
const SDK_PATH: &str = "rust-runtime/sdk";
/// Where a distribution has the directories of a checkout.
const SHARE: &str = "share/burst";

/// A source of the crate.
#[derive(Debug, PartialEq, Eq)]
pub enum Sdk {
    /// The directory of the crate.
    Directory(PathBuf),
    /// A git repository.
    Repository {
        /// Its URL.
        url: String,
        /// A tag; `None` for the default branch.
        tag: Option<String>,
    },
}

impl Sdk {
    /// Finds the SDK: the one that was named; else the one that came with this program; else the checkout that the user
    /// is in.
    pub fn find(given: Option<&str>) -> Result<Self, Error> {
        if let Some(given) = given {
            return Self::named(given);
        }
        let program = env::current_exe().and_then(fs::canonicalize);
        let directories = [program, env::current_dir()].into_iter().flatten();
        let found = directories
            .filter_map(|directory| directory.ancestors().find_map(sources))
            .next();
        found.map(Self::Directory).ok_or_else(|| {
            Error::Usage(
                "the SDK is in no package registry: say with --sdk where a checkout of Burst's \
                 repository is, or what its URL is"
                    .into(),
            )
        })
    }

    fn named(given: &str) -> Result<Self, Error> {
        if given.contains("://") {
            let (url, tag) = match given.split_once('#') {
                Some((url, tag)) => (url, Some(tag.into())),
                None => (given, None),
            };
            let url = url.into();
            return Ok(Self::Repository { url, tag });
        }
        let directory = fs::canonicalize(given).map_err(Error::file("read", given))?;
        let found = sources(&directory).or_else(|| is_sdk(&directory).then_some(directory));
        found.map(Self::Directory).ok_or_else(|| {
            Error::Usage(format!(
                "{given} is no checkout of Burst's repository, nor a distribution: it has no {SDK_PATH}"
            ))
        })
    }

    /// Returns the dependency as a line of a manifest.
    pub fn dependency(&self) -> Result<String, Error> {
        match self {
            Self::Directory(path) => {
                let path = path
                    .to_str()
                    .ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))?;
                Ok(format!(
                    "burst = {{ package = \"{CRATE}\", path = {} }}",
                    quoted(path)
                ))
            }
            Self::Repository { url, tag } => {
                let tag = tag.as_deref().map(|tag| format!(", tag = {}", quoted(tag)));
                Ok(format!(
                    "burst = {{ package = \"{CRATE}\", git = {}{} }}",
                    quoted(url),
                    tag.unwrap_or_default()
                ))
            }
        }
    }
}

/// Quotes a text for TOML, in which JSON's strings are valid.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the directory of the SDK's sources in a checkout or a distribution.
fn sources(directory: &Path) -> Option<PathBuf> {
    let directories = [
        directory.join(SDK_PATH),
        directory.join(SHARE).join(SDK_PATH),
    ];
    directories.into_iter().find(|sdk| is_sdk(sdk))
}

fn is_sdk(directory: &Path) -> bool {
    let manifest = fs::read_to_string(directory.join("Cargo.toml"));
    let name = format!("name = \"{CRATE}\"");
    manifest.is_ok_and(|text| text.lines().any(|line| line == name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_checkout_becomes_a_path_dependency() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let sdk = fs::canonicalize(root.join(SDK_PATH)).unwrap();
        for directory in [root, &sdk] {
            let found = Sdk::find(Some(directory.to_str().unwrap())).unwrap();
            assert_eq!(found, Sdk::Directory(sdk.clone()));
        }
        let refused = Sdk::find(Some("/")).unwrap_err().to_string();
        assert!(refused.contains("no checkout"), "{refused}");
        let strange = Sdk::Directory("/a \"b\\".into());
        assert_eq!(
            strange.dependency().unwrap(),
            r#"burst = { package = "burst-compute", path = "/a \"b\\" }"#
        );
    }

    #[test]
    fn a_url_becomes_a_git_dependency() {
        let found = Sdk::find(Some("https://example.org/burst.git")).unwrap();
        assert_eq!(
            found.dependency().unwrap(),
            r#"burst = { package = "burst-compute", git = "https://example.org/burst.git" }"#
        );
        let found = Sdk::find(Some("https://example.org/burst.git#v0.1.0")).unwrap();
        assert_eq!(
            found.dependency().unwrap(),
            r#"burst = { package = "burst-compute", git = "https://example.org/burst.git", tag = "v0.1.0" }"#
        );
    }
}

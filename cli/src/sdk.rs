//! Where a new crate gets the SDK from: it is not published, and the name `burst` on crates.io is a stranger's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Error;

/// The repository's URL, once the workspace's manifest names one.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// Where the SDK is in a checkout.
const PLACE: &str = "rust-runtime/sdk";

/// A source of the crate `burst`.
#[derive(Debug, PartialEq, Eq)]
pub enum Sdk {
    /// The directory of the crate.
    Directory(PathBuf),
    /// A git repository that has a tag for this version.
    Repository(String),
}

impl Sdk {
    /// What was named; else the checkout that this program or its user is in; else the repository.
    pub fn find(given: Option<&str>) -> Result<Self, Error> {
        if let Some(given) = given {
            return Self::named(given);
        }
        let program = env::current_exe().and_then(fs::canonicalize);
        let places = [program, env::current_dir()].into_iter().flatten();
        let found = places
            .filter_map(|place| place.ancestors().find_map(in_checkout))
            .next();
        match found {
            Some(directory) => Ok(Self::Directory(directory)),
            None if !REPOSITORY.is_empty() => Ok(Self::Repository(REPOSITORY.into())),
            None => Err(Error::Usage(
                "the SDK is in no package registry: say with --sdk where a checkout of Burst's \
                 repository is, or what its URL is"
                    .into(),
            )),
        }
    }

    fn named(given: &str) -> Result<Self, Error> {
        if given.contains("://") {
            return Ok(Self::Repository(given.into()));
        }
        let place = fs::canonicalize(given).map_err(Error::file("read", given))?;
        let found = in_checkout(&place).or_else(|| is_sdk(&place).then_some(place));
        found.map(Self::Directory).ok_or_else(|| {
            Error::Usage(format!(
                "{given} is no checkout of Burst's repository: it has no {PLACE}"
            ))
        })
    }

    /// The dependency in a manifest.
    pub fn dependency(&self) -> Result<String, Error> {
        match self {
            Self::Directory(path) => {
                let path = path
                    .to_str()
                    .ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))?;
                Ok(format!("burst = {{ path = {} }}", quoted(path)))
            }
            Self::Repository(url) => Ok(format!(
                "burst = {{ git = {}, tag = \"v{}\" }}",
                quoted(url),
                env!("CARGO_PKG_VERSION")
            )),
        }
    }
}

/// The strings of JSON are strings of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn in_checkout(place: &Path) -> Option<PathBuf> {
    Some(place.join(PLACE)).filter(|sdk| is_sdk(sdk))
}

fn is_sdk(place: &Path) -> bool {
    let manifest = fs::read_to_string(place.join("Cargo.toml"));
    manifest.is_ok_and(|text| text.lines().any(|line| line == "name = \"burst\""))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_checkout_or_the_crate_in_it_is_a_path() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let sdk = fs::canonicalize(root.join(PLACE)).unwrap();
        for place in [root, &sdk] {
            let found = Sdk::find(Some(place.to_str().unwrap())).unwrap();
            assert_eq!(found, Sdk::Directory(sdk.clone()));
        }
        let refused = Sdk::find(Some("/")).unwrap_err().to_string();
        assert!(refused.contains("no checkout"), "{refused}");
        let strange = Sdk::Directory("/a \"b\\".into());
        assert_eq!(
            strange.dependency().unwrap(),
            r#"burst = { path = "/a \"b\\" }"#
        );
    }

    #[test]
    fn a_url_is_a_repository_with_a_tag_of_this_version() {
        let found = Sdk::find(Some("https://example.org/burst.git")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            found.dependency().unwrap(),
            format!(r#"burst = {{ git = "https://example.org/burst.git", tag = "v{version}" }}"#)
        );
    }
}

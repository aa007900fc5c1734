//! The versions of a protocol that each end speaks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The versions of the protocol between invoker and runtime. The header [`VERSIONS_HEADER`] of a request lists the
/// invoker's versions, [`VERSION_HEADER`] of the response names the one that the runtime has chosen. A request without
/// the header uses version 1.
pub const RUNTIME: Versions = Versions::only(1);

/// The versions of the protocol between runtime and program: the runtime's, and those of the SDK that a program is
/// built with, which sends them in its hello.
pub const PROGRAM: Versions = Versions::only(1);

/// The header with the versions that the invoker speaks, such as `1-3`.
pub const VERSIONS_HEADER: &str = "burst-versions";

/// The header with the version that the runtime has chosen, such as `2`.
pub const VERSION_HEADER: &str = "burst-version";

/// The versions of a protocol that one end speaks, from the oldest to the newest. On the wire `1-3`, or a single
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Versions {
    oldest: u32,
    newest: u32,
}

/// A text that is not a range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("versions are written as 1-3, or as one number")]
pub struct InvalidVersions;

impl Versions {
    /// Makes a range of one version.
    #[must_use]
    pub const fn only(version: u32) -> Self {
        Self {
            oldest: version,
            newest: version,
        }
    }

    /// Returns the newest version that both ends speak, if there is one.
    #[must_use]
    pub fn common(self, others: Self) -> Option<u32> {
        let version = self.newest.min(others.newest);
        (version >= self.oldest.max(others.oldest)).then_some(version)
    }

    /// Returns whether all of them are older than those of the other end.
    #[must_use]
    pub fn are_older(self, others: Self) -> bool {
        self.newest < others.oldest
    }

    /// Formats them for messages: `version 2`, `versions 1 to 3`.
    #[must_use]
    pub fn named(self) -> String {
        if self.oldest == self.newest {
            format!("version {}", self.newest)
        } else {
            format!("versions {} to {}", self.oldest, self.newest)
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            self.newest.fmt(f)
        } else {
            write!(f, "{}-{}", self.oldest, self.newest)
        }
    }
}

impl FromStr for Versions {
    type Err = InvalidVersions;

    fn from_str(text: &str) -> Result<Self, InvalidVersions> {
        let (oldest, newest) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse().map_err(|_| InvalidVersions);
        let (oldest, newest) = (number(oldest)?, number(newest)?);
        if oldest <= newest {
            Ok(Self { oldest, newest })
        } else {
            Err(InvalidVersions)
        }
    }
}

impl From<Versions> for String {
    fn from(versions: Versions) -> Self {
        versions.to_string()
    }
}

impl TryFrom<String> for Versions {
    type Error = InvalidVersions;

    fn try_from(text: String) -> Result<Self, InvalidVersions> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn versions(text: &str) -> Versions {
        text.parse().unwrap()
    }

    #[test]
    fn the_newest_common_version_is_chosen() {
        for (other, common) in [
            ("1-2", None),
            ("1-3", Some(3)),
            ("4", Some(4)),
            ("5-9", Some(5)),
            ("6-9", None),
        ] {
            assert_eq!(versions("3-5").common(versions(other)), common, "{other}");
            assert_eq!(versions(other).common(versions("3-5")), common, "{other}");
        }
        assert!(versions("1-2").are_older(versions("3")));
        assert!(!versions("1-3").are_older(versions("3")));
    }

    #[test]
    fn versions_are_read_as_they_are_written() {
        for text in ["4", "2-5"] {
            assert_eq!(versions(text).to_string(), text);
        }
        for bad in ["", "x", "5-2", "2-", "-1", "1-2-3", "99999999999"] {
            assert_eq!(bad.parse::<Versions>(), Err(InvalidVersions), "{bad}");
        }
        assert_eq!(versions("4").named(), "version 4");
        assert_eq!(versions("2-5").named(), "versions 2 to 5");
    }
}

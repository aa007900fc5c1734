//! Kinds of programs: what a package contains, and so how it is run.

/// The name of a source file that is a package by itself.
pub(crate) const SOURCE: &str = "source";

/// Packages of this kind cannot run here.
#[derive(Debug, thiserror::Error)]
#[error("there is no kind `{0}` here: the kinds are {families}", families = FAMILIES.map(|(name, _)| name).join(", "))]
pub struct UnknownKind(String);

/// The way in which a package is run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its `exec`, which speaks the runtime's protocol itself.
    #[default]
    Native,
    /// Its `exec`, which speaks either the runtime's protocol or OpenWhisk's action loop; OpenWhisk's name for a kind
    /// stands for the latter.
    NativeOrActionLoop,
    /// Its `exec`, which speaks OpenWhisk's action loop, under a launcher.
    ActionLoop,
    /// Its `exec`, which a launcher starts for each run, as OpenWhisk's skeleton does.
    Skeleton,
    /// The command of the image that this runs in, which keeps OpenWhisk's contract for containers, under a launcher.
    Image,
    /// An interpreter with a launcher, which receives the function's name.
    Script(Language),
}

/// A language for which there is an interpreter and a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Language {
    /// Python, of this version if the machine has it.
    Python(Option<String>),
    Nodejs,
}

impl Language {
    /// Returns the files that its launcher looks for in a package.
    pub(crate) fn entries(&self) -> &'static [&'static str] {
        match self {
            Self::Python(_) => &["__main__.py", SOURCE],
            Self::Nodejs => &["package.json", "index.js", SOURCE],
        }
    }
}

/// Returns how packages of a family are run, for the version that is requested; none if the family has no such version.
type KindOf = fn(Option<&str>) -> Option<Kind>;

/// The families of kinds.
pub(crate) const FAMILIES: [(&str, KindOf); 8] = [
    ("rust", |version| match version {
        None => Some(Kind::Native),
        Some(_) => Some(Kind::NativeOrActionLoop),
    }),
    ("python", |version| {
        Some(Kind::Script(Language::Python(numbered(version))))
    }),
    ("nodejs", |_| Some(Kind::Script(Language::Nodejs))),
    ("go", |_| Some(Kind::ActionLoop)),
    ("swift", |_| Some(Kind::ActionLoop)),
    ("blackbox", |version| {
        version.is_none().then_some(Kind::Image)
    }),
    ("action-loop", |_| Some(Kind::ActionLoop)),
    ("skeleton", |version| {
        version.is_none().then_some(Kind::Skeleton)
    }),
];

impl Kind {
    /// Parses the name of a kind: `FAMILY`, or `FAMILY:VERSION` as in OpenWhisk.
    pub(crate) fn parse(name: &str) -> Result<Self, UnknownKind> {
        let (family, version) = match name.split_once(':') {
            Some((family, version)) => (family, Some(version)),
            None => (name, None),
        };
        let found = FAMILIES.iter().find(|(name, _)| *name == family);
        found
            .and_then(|(_, kind)| kind(version))
            .ok_or_else(|| UnknownKind(name.chars().take(100).collect()))
    }
}

/// Returns a version if it could be part of an interpreter's name.
fn numbered(version: Option<&str>) -> Option<String> {
    let digits = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    version
        .filter(|version| version.contains('.') && version.bytes().all(digits))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn families_and_versions_are_distinguished() {
        let python =
            |version: Option<&str>| Kind::Script(Language::Python(version.map(str::to_owned)));
        for (name, kind) in [
            ("rust", Kind::Native),
            ("rust:1.34", Kind::NativeOrActionLoop),
            ("go:1.20", Kind::ActionLoop),
            ("action-loop", Kind::ActionLoop),
            ("skeleton", Kind::Skeleton),
            ("python", python(None)),
            ("python:3", python(None)),
            ("python:default", python(None)),
            ("python:3.11", python(Some("3.11"))),
            ("python:../3.11", python(None)),
            ("nodejs:20", Kind::Script(Language::Nodejs)),
            ("blackbox", Kind::Image),
        ] {
            assert_eq!(Kind::parse(name).unwrap(), kind, "{name}");
        }
        for unknown in [
            "",
            "blackbox:1",
            "skeleton:1",
            "cobol",
            "Python",
            "python3",
            "rust2:1",
        ] {
            assert!(Kind::parse(unknown).is_err(), "{unknown}");
        }
    }
}

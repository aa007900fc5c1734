//! Kinds of programs: what a package holds, and so what runs it.

/// Name of a file of source that is a package by itself.
pub(crate) const SOURCE: &str = "source";

/// Nothing here runs such packages.
#[derive(Debug, thiserror::Error)]
#[error("there is no kind `{0}` here: the kinds are {families}", families = FAMILIES.map(|(name, _)| name).join(", "))]
pub struct UnknownKind(String);

/// What runs a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its `exec`, which speaks to the runtime itself.
    #[default]
    Native,
    /// Its `exec`, which does or speaks OpenWhisk's action loop: OpenWhisk has the name for the latter.
    NativeOrActionLoop,
    /// Its `exec`, which speaks OpenWhisk's action loop, under a launcher.
    ActionLoop,
    /// Its `exec`, which is started for each run as OpenWhisk's skeleton does, under a launcher.
    Skeleton,
    /// The command of the image that this runs in, which keeps OpenWhisk's contract of containers, under a launcher.
    Image,
    /// An interpreter, under a launcher that is told the function's name.
    Script(Language),
}

/// What there is an interpreter and a launcher for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Language {
    /// Of this version, if the machine has it.
    Python(Option<String>),
    Nodejs,
}

impl Language {
    /// What its launcher looks for in a package.
    pub(crate) fn entries(&self) -> &'static [&'static str] {
        match self {
            Self::Python(_) => &["__main__.py", SOURCE],
            Self::Nodejs => &["package.json", "index.js", SOURCE],
        }
    }
}

/// What runs the packages of a family, by the version that is asked for; none if the family has no such version.
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
    /// The kind of this name: `FAMILY`, or `FAMILY:VERSION` as OpenWhisk has it.
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

/// A version that could be part of an interpreter's name.
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
    fn families_and_versions_are_told_apart() {
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

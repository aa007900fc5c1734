//! Names of entities: `[/NAMESPACE/][PACKAGE/]NAME`.

use crate::error::Error;

/// The caller's own namespace.
pub const OWN: &str = "_";

/// An entity of a namespace, perhaps in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The namespace; `_` is the caller's own.
    pub namespace: String,
    /// The package, for an action that is in one.
    pub package: Option<String>,
    /// The entity's own name.
    pub name: String,
}

impl Name {
    /// Parses a name, which is in this namespace unless the text gives another.
    pub fn parse(text: &str, namespace: &str) -> Result<Self, Error> {
        let (namespace, path) = split(text, namespace);
        let parts: Vec<&str> = path.split('/').collect();
        let (package, name) = match parts[..] {
            [name] => (None, name),
            [package, name] => (Some(package.to_owned()), name),
            _ => return Err(malformed(text)),
        };
        if namespace.is_empty() || name.is_empty() || package.as_deref() == Some("") {
            return Err(malformed(text));
        }
        Ok(Self {
            namespace: namespace.into(),
            package,
            name: name.into(),
        })
    }

    /// Parses the name of an entity that cannot be in a package.
    pub fn parse_plain(text: &str, namespace: &str) -> Result<Self, Error> {
        let name = Self::parse(text, namespace)?;
        match name.package {
            None => Ok(name),
            Some(_) => Err(malformed(text)),
        }
    }

    /// `[PACKAGE/]NAME`.
    pub fn path(&self) -> String {
        match &self.package {
            Some(package) => format!("{package}/{}", self.name),
            None => self.name.clone(),
        }
    }

    /// `/NAMESPACE/[PACKAGE/]NAME`.
    pub fn qualified(&self) -> String {
        format!("/{}/{}", self.namespace, self.path())
    }
}

/// Parses the namespace and package to list: `/NAMESPACE[/PACKAGE]` or `PACKAGE`.
pub fn within(text: Option<&str>, namespace: &str) -> Result<(String, Option<String>), Error> {
    let Some(text) = text else {
        return Ok((namespace.into(), None));
    };
    let (namespace, package) = split(text, namespace);
    if namespace.is_empty() || package.contains('/') {
        return Err(malformed(text));
    }
    let package = Some(package).filter(|name| !name.is_empty());
    Ok((namespace.into(), package.map(str::to_owned)))
}

/// Parses the name whose activations to list, and returns it as lists are requested by it: `[PACKAGE/]NAME`. A
/// namespace alone stands for all, and is ignored: callers see only their own.
pub fn of_activations(text: Option<&str>) -> Result<Option<String>, Error> {
    let Some(text) = text else { return Ok(None) };
    let (namespace, path) = split(text, OWN);
    if text.starts_with('/') && path.is_empty() && !namespace.is_empty() {
        return Ok(None);
    }
    Name::parse(text, OWN).map(|name| Some(name.path()))
}

fn split<'a>(text: &'a str, namespace: &'a str) -> (&'a str, &'a str) {
    // A name of three parts has a namespace, with or without the leading slash.
    let has_three = text.matches('/').count() == 2;
    let qualified = text.strip_prefix('/').or(has_three.then_some(text));
    match qualified {
        None => (namespace, text),
        Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
    }
}

fn malformed(text: &str) -> Error {
    Error::Usage(format!(
        "\"{text}\" is not a name here: write NAME, PACKAGE/NAME or /NAMESPACE/[PACKAGE/]NAME"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_parsed_with_and_without_namespace_and_package() {
        for (text, qualified) in [
            ("hello", "/_/hello"),
            ("p/hello", "/_/p/hello"),
            ("/guest/hello", "/guest/hello"),
            ("/guest/p/hello", "/guest/p/hello"),
            ("guest/p/hello", "/guest/p/hello"),
        ] {
            assert_eq!(Name::parse(text, "_").unwrap().qualified(), qualified);
        }
        for text in [
            "", "/guest", "/guest/", "a//c", "//a", "a/", "a/b/c/d", "/a/b/c/d",
        ] {
            assert!(Name::parse(text, "_").is_err(), "{text}");
        }
        assert!(Name::parse_plain("p/rule", "_").is_err());
    }

    #[test]
    fn lists_cover_a_namespace_or_a_package() {
        let of = |text| within(text, "_").unwrap();
        let own = || "_".to_owned();
        assert_eq!(of(None), (own(), None));
        assert_eq!(of(Some("p")), (own(), Some("p".into())));
        assert_eq!(of(Some("/guest")), ("guest".into(), None));
        assert_eq!(of(Some("/guest/p")), ("guest".into(), Some("p".into())));
        assert!(within(Some("a/b"), "_").is_err());
    }

    #[test]
    fn activations_are_listed_for_one_action_or_all() {
        let of = |text| of_activations(Some(text)).unwrap();
        for text in ["hello", "/_/hello", "/guest/hello"] {
            assert_eq!(of(text).as_deref(), Some("hello"), "{text}");
        }
        for text in ["p/hello", "/_/p/hello", "/guest/p/hello", "guest/p/hello"] {
            assert_eq!(of(text).as_deref(), Some("p/hello"), "{text}");
        }
        assert_eq!(of("/guest"), None);
        assert_eq!(of_activations(None).unwrap(), None);
        for text in ["", "/", "//", "p/", "/a/b/c/d"] {
            assert!(of_activations(Some(text)).is_err(), "{text}");
        }
    }
}

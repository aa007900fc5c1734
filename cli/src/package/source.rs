//! Programs that are uploaded without a build: their kind, from a flag or the file's ending, and their code.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::is_elf;
use crate::error::Error;

/// Kinds by a file's ending, each the newest of its family.
const KINDS: [(&str, &str); 10] = [
    ("js", "nodejs:default"),
    ("mjs", "nodejs:default"),
    ("py", "python:default"),
    ("swift", "swift:default"),
    ("java", "java:default"),
    ("php", "php:default"),
    ("rb", "ruby:default"),
    ("go", "go:default"),
    ("rs", "rust:default"),
    ("bal", "ballerina:default"),
];

/// Returns the kind of a file's program, by the file's ending or content.
pub fn kind_of(path: &Path, bytes: &[u8]) -> Result<String, Error> {
    if let Some(kind) = by_ending(path) {
        return Ok(kind.into());
    }
    if is_elf(bytes) {
        return Ok("rust:default".into());
    }
    let shown = path.display();
    Err(Error::Usage(match ending(path) {
        // The ending of a `tar.gz` is `gz`.
        Some("zip" | "jar" | "tgz" | "gz") => {
            format!(
                "{shown} does not tell its kind: say it with --kind, as in --kind nodejs:default"
            )
        }
        _ => format!("the kind of {shown} is not known by its ending: say it with --kind"),
    }))
}

/// Completes a kind: a family alone means its newest version, as it does in `package.json` and similar files.
pub fn complete(kind: &str) -> String {
    let is_family = KINDS
        .iter()
        .any(|(_, known)| known.strip_suffix(":default") == Some(kind));
    if is_family {
        format!("{kind}:default")
    } else {
        kind.into()
    }
}

/// Returns text unchanged and anything else in base64, and whether it is base64.
pub fn encoded(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => (text, false),
        Ok(text) => (STANDARD.encode(text), true),
        Err(bytes) => (STANDARD.encode(bytes.into_bytes()), true),
    }
}

/// Returns the kind for the ending of a file's name.
pub fn by_ending(path: &Path) -> Option<&'static str> {
    let ending = ending(path)?;
    let known = KINDS.iter().find(|(known, _)| ending == *known);
    known.map(|(_, kind)| *kind)
}

fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(|ending| ending.to_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_kind_is_detected_by_extension_or_content() {
        let kind = |name: &str, bytes: &[u8]| kind_of(Path::new(name), bytes);
        assert_eq!(kind("a.py", b"").unwrap(), "python:default");
        assert_eq!(kind("a.js", b"").unwrap(), "nodejs:default");
        assert_eq!(kind("a", b"\x7fELF...").unwrap(), "rust:default");
        for archive in ["a.zip", "a.tgz", "a.tar.gz"] {
            let refusal = kind(archive, b"PK").unwrap_err().to_string();
            assert!(refusal.contains("does not tell its kind"), "{refusal}");
        }
        assert!(kind("a.txt", b"").is_err());
    }

    #[test]
    fn binary_files_are_encoded_in_base64() {
        assert_eq!(encoded(b"code".to_vec()), ("code".into(), false));
        assert_eq!(encoded(vec![0xff]), ("/w==".into(), true));
        assert_eq!(encoded(vec![0]), ("AA==".into(), true));
        // The first bytes of a gzip.
        assert_eq!(encoded(vec![0x1f, 0x8b]), ("H4s=".into(), true));
    }

    #[test]
    fn a_kind_without_a_version_means_the_default() {
        assert_eq!(complete("nodejs"), "nodejs:default");
        assert_eq!(complete("nodejs:20"), "nodejs:20");
        assert_eq!(complete("other"), "other");
    }
}

//! What an action is made of: its kind, by a flag or by the file's ending, and its code.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::name::Name;
use crate::args::wsk::action::ActionArgs;
use crate::error::Error;
use crate::package;

/// Runs executables that speak the action loop.
const LOOP_IMAGE: &str = "openwhisk/dockerskeleton";
const ELF: &[u8] = b"\x7fELF";
/// More than any platform takes; the platform's own limit is usually lower.
const LARGEST: u64 = 1 << 30;

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

/// What runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exec {
    /// Its kind.
    pub kind: String,
    /// Text, or bytes in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<bool>,
    /// The function that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<String>,
    /// What it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The actions of a sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<String>>,
}

/// What the command line says that an action is made of; nothing if it says nothing.
pub fn of(args: &ActionArgs, namespace: &str) -> Result<Option<Exec>, Error> {
    if args.sequence {
        return sequence(args, namespace).map(Some);
    }
    let image = match &args.docker {
        Some(image) => Some(image.clone()),
        None => args.native.then(|| LOOP_IMAGE.to_owned()),
    };
    let Some(artifact) = &args.artifact else {
        return match image {
            Some(image) if args.docker.is_some() => Ok(Some(Exec {
                main: args.main.clone(),
                image: Some(image),
                ..exec("blackbox")
            })),
            Some(_) => Err(Error::Usage("--native needs an executable or a zip".into())),
            None if args.kind.is_some() => {
                Err(Error::Usage("--kind is of a file: name one".into()))
            }
            None => Ok(None),
        };
    };
    let path = Path::new(artifact);
    let bytes = read(path)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let kind = match (&image, &args.kind) {
        (Some(_), _) => "blackbox".to_owned(),
        (None, Some(kind)) => complete(kind),
        (None, None) => kind_of(path, ending, &bytes)?,
    };
    let bytes = if kind.starts_with("rust") && bytes.starts_with(ELF) {
        package::zip(path)?
    } else {
        bytes
    };
    let (code, binary) = encoded(bytes);
    Ok(Some(Exec {
        code: Some(code),
        binary: Some(binary),
        main: args.main.clone(),
        image,
        ..exec(&kind)
    }))
}

fn exec(kind: &str) -> Exec {
    Exec {
        kind: kind.into(),
        code: None,
        binary: None,
        main: None,
        image: None,
        components: None,
    }
}

fn sequence(args: &ActionArgs, namespace: &str) -> Result<Exec, Error> {
    let Some(list) = &args.artifact else {
        return Err(Error::Usage(
            "--sequence needs actions, with commas between them".into(),
        ));
    };
    let names = list.split(',').map(str::trim);
    let names = names.map(|name| Ok(Name::parse(name, namespace)?.qualified()));
    Ok(Exec {
        components: Some(names.collect::<Result<_, Error>>()?),
        ..exec("sequence")
    })
}

fn kind_of(path: &Path, ending: Option<&str>, bytes: &[u8]) -> Result<String, Error> {
    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| ending == Some(*known)) {
        return Ok((*kind).into());
    }
    if bytes.starts_with(ELF) {
        return Ok("rust:default".into());
    }
    let shown = path.display();
    Err(Error::Usage(match ending {
        Some("zip" | "jar") => {
            format!(
                "{shown} does not tell its kind: say it with --kind, as in --kind nodejs:default"
            )
        }
        _ => format!("the kind of {shown} is not known by its ending: say it with --kind"),
    }))
}

/// A family alone means its newest version, as it does in `package.json` and the like.
fn complete(kind: &str) -> String {
    let is_family = KINDS
        .iter()
        .any(|(_, known)| known.strip_suffix(":default") == Some(kind));
    if is_family {
        format!("{kind}:default")
    } else {
        kind.into()
    }
}

/// Text as it is, anything else in base64, and which of both.
fn encoded(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => (text, false),
        Ok(text) => (STANDARD.encode(text), true),
        Err(bytes) => (STANDARD.encode(bytes.into_bytes()), true),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let size = fs::metadata(path).map_err(Error::file("read", path))?.len();
    if size > LARGEST {
        let shown = path.display();
        return Err(Error::Build(format!("{shown} is larger than 1 GiB")));
    }
    fs::read(path).map_err(Error::file("read", path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_kind_is_by_ending_or_by_what_the_file_is() {
        let kind = |name: &str, bytes: &[u8]| {
            let path = Path::new(name);
            kind_of(path, path.extension().and_then(|it| it.to_str()), bytes)
        };
        assert_eq!(kind("a.py", b"").unwrap(), "python:default");
        assert_eq!(kind("a.js", b"").unwrap(), "nodejs:default");
        assert_eq!(kind("a", b"\x7fELF...").unwrap(), "rust:default");
        let refusal = kind("a.zip", b"PK").unwrap_err().to_string();
        assert!(refusal.contains("--kind"), "{refusal}");
        assert!(kind("a.txt", b"").is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_in_base64() {
        assert_eq!(encoded(b"code".to_vec()), ("code".into(), false));
        assert_eq!(encoded(vec![0xff]), ("/w==".into(), true));
        assert_eq!(encoded(vec![0]), ("AA==".into(), true));
    }

    #[test]
    fn a_family_means_its_newest_version() {
        assert_eq!(complete("nodejs"), "nodejs:default");
        assert_eq!(complete("nodejs:20"), "nodejs:20");
        assert_eq!(complete("other"), "other");
    }
}

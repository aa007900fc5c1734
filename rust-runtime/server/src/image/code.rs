//! A package's code in the form in which an image receives it: text, or bytes in base64.

use std::fs::{self, File};
use std::io::{self, Cursor};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::kind::SOURCE;
use crate::package::EXEC;

/// The code of a package; an empty text if it has none.
#[derive(Debug, PartialEq)]
pub(super) struct Code {
    pub(super) text: String,
    pub(super) binary: bool,
}

impl Code {
    /// Reads the code in the directory of an unpacked package: a lone source file or executable as it is, anything else
    /// as a zip.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let names = names(directory)?;
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Ok(Self {
                text: String::new(),
                binary: false,
            }),
            [SOURCE] => Ok(match String::from_utf8(fs::read(directory.join(SOURCE))?) {
                Ok(text) => Self {
                    text,
                    binary: false,
                },
                Err(bytes) => Self::binary(bytes.as_bytes()),
            }),
            [EXEC] => Ok(Self::binary(&fs::read(directory.join(EXEC))?)),
            _ => {
                let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
                add(&mut zip, directory, "", &names)?;
                let zipped = zip.finish().map_err(io::Error::other)?;
                Ok(Self::binary(&zipped.into_inner()))
            }
        }
    }

    fn binary(bytes: &[u8]) -> Self {
        Self {
            text: STANDARD.encode(bytes),
            binary: true,
        }
    }
}

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().into_string();
        names.push(name.map_err(|_| io::Error::other("the package has a name that is no UTF-8"))?);
    }
    names.sort();
    Ok(names)
}

/// Adds a directory's files to a zip. Recursive: a package has no links, and is no deeper than its zip was.
fn add(
    zip: &mut ZipWriter<Cursor<Vec<u8>>>,
    directory: &Path,
    prefix: &str,
    names: &[String],
) -> io::Result<()> {
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    for name in names {
        let (path, full) = (directory.join(name), format!("{prefix}{name}"));
        if path.is_dir() {
            let below = self::names(&path)?;
            add(zip, &path, &format!("{full}/"), &below)?;
        } else {
            zip.start_file(full, options).map_err(io::Error::other)?;
            io::copy(&mut File::open(path)?, zip)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn code(files: &[(&str, &[u8])]) -> Code {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Code::read(directory.path()).unwrap()
    }

    #[test]
    fn a_text_stays_one_and_bytes_are_base64() {
        let text = |text: &str, binary| Code {
            text: text.to_owned(),
            binary,
        };
        assert_eq!(code(&[]), text("", false));
        assert_eq!(code(&[("source", b"x = 1")]), text("x = 1", false));
        assert_eq!(code(&[("source", b"\xff")]), text("/w==", true));
        assert_eq!(code(&[("exec", b"\x7fELF")]), text("f0VMRg==", true));
    }

    #[test]
    fn several_files_are_a_zip() {
        let told = code(&[("exec", b"#!"), ("lib/part.py", b"x"), ("lib/a/b", b"y")]);
        assert!(told.binary);
        let bytes = STANDARD.decode(told.text).unwrap();
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let names: Vec<_> = zip
            .file_names()
            .map(|name| name.unwrap().into_owned())
            .collect();
        assert_eq!(names, ["exec", "lib/a/b", "lib/part.py"]);
        let part = io::read_to_string(zip.by_name("lib/part.py").unwrap()).unwrap();
        assert_eq!(part, "x");
    }
}

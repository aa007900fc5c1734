//! The zip around the executable.

use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::error::PackageError;
use super::{LARGEST, too_large};

/// The first bytes of a zip.
pub const MAGIC: &[u8] = b"PK\x03\x04";
/// The name of the file that the platform starts.
const EXEC: &str = "exec";

/// Packs an executable. The same executable gives the same bytes, because packages are identified
/// by their content.
pub fn pack(executable: &[u8]) -> Result<Vec<u8>, PackageError> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(0o755);
    let write = || -> Result<Vec<u8>, ZipError> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file(EXEC, options)?;
        zip.write_all(executable)?;
        Ok(zip.finish()?.into_inner())
    };
    write().map_err(PackageError::Pack)
}

/// Extracts the executable from a zip.
pub fn executable(zip: &[u8], name: &str) -> Result<Vec<u8>, PackageError> {
    let broken = |cause| PackageError::Zip {
        name: name.to_owned(),
        cause,
    };
    let mut zip = ZipArchive::new(Cursor::new(zip)).map_err(broken)?;
    let entry = match zip.by_name(EXEC) {
        Ok(entry) => entry,
        Err(ZipError::FileNotFound) => return Err(PackageError::NoExec(name.to_owned())),
        Err(cause) => return Err(broken(cause)),
    };
    let mut bytes = Vec::new();
    entry
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| PackageError::Entry {
            name: name.to_owned(),
            cause,
        })?;
    if bytes.len() as u64 > LARGEST {
        return Err(too_large(name.to_owned()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_packed_executable_stays_executable() {
        let zip = pack(b"bytes").unwrap();
        assert!(zip.starts_with(MAGIC));
        assert_eq!(zip, pack(b"bytes").unwrap());
        assert_eq!(executable(&zip, "x").unwrap(), b"bytes");
        let mut archive = ZipArchive::new(Cursor::new(zip)).unwrap();
        let mode = archive.by_name(EXEC).unwrap().unix_mode().unwrap();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn zips_without_an_executable_are_refused() {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("other", SimpleFileOptions::default())
            .unwrap();
        let zip = zip.finish().unwrap().into_inner();
        assert!(
            executable(&zip, "x")
                .unwrap_err()
                .to_string()
                .contains("no file `exec`")
        );
        assert!(
            executable(&zip[..20], "x")
                .unwrap_err()
                .to_string()
                .contains("not a sound zip")
        );
    }
}

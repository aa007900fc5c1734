//! The blobs of an image, in a directory or in a tar of one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256, Sha512};

use crate::document::Descriptor;
use crate::{Error, InvalidImage};

/// The most bytes of a blob that is read into memory: an index, a manifest or a configuration.
const DOCUMENT: u64 = 4 << 20;

/// The most files of a tar.
const FILES: usize = 100_000;

/// An image layout on disk.
#[derive(Debug)]
pub(crate) enum Layout {
    Directory(PathBuf),
    /// A tar, with the offset and the length of each file in it.
    Archive {
        path: PathBuf,
        files: HashMap<Vec<u8>, (u64, u64)>,
    },
}

impl Layout {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let layout = match path.is_dir() {
            true => Self::Directory(path.to_owned()),
            false => Self::archive(path)?,
        };
        match layout.read("oci-layout") {
            Ok(_) => Ok(layout),
            Err(Error::Read { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => {
                Err(InvalidImage::NoLayout.into())
            }
            Err(other) => Err(other),
        }
    }

    fn archive(path: &Path) -> Result<Self, Error> {
        let failed = || Error::read(path.display().to_string());
        let file = File::open(path).map_err(failed())?;
        let mut archive = tar::Archive::new(file);
        let mut files = HashMap::new();
        for entry in archive.entries_with_seek().map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if files.len() == FILES {
                return Err(InvalidImage::TooManyFiles(FILES as u64).into());
            }
            if entry.header().entry_type().is_file() {
                let name = entry.path_bytes();
                let name = name.strip_prefix(b"./").unwrap_or(&name).to_vec();
                files.insert(name, (entry.raw_file_position(), entry.size()));
            }
        }
        Ok(Self::Archive {
            path: path.to_owned(),
            files,
        })
    }

    /// Reads a document by its name, without checking a digest.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let failed = || Error::read(name);
        let mut document = Vec::new();
        let file = self.file(name).map_err(failed())?;
        (file.take(DOCUMENT + 1).read_to_end(&mut document)).map_err(failed())?;
        match document.len() as u64 > DOCUMENT {
            true => Err(InvalidImage::TooLarge(name.to_owned()).into()),
            false => Ok(document),
        }
    }

    /// Reads a document after checking it against its digest.
    pub(crate) fn document(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Error> {
        self.blob(descriptor)?;
        self.read(&name_of(descriptor)?)
    }

    /// Opens a blob after reading all of it to check its size and digest.
    pub(crate) fn blob(&self, descriptor: &Descriptor) -> Result<impl BufRead, Error> {
        let name = name_of(descriptor)?;
        let open = || self.file(&name).map_err(Error::read(name.as_str()));
        let (size, digest) = match descriptor.digest.starts_with(SHA512) {
            true => digest::<Sha512>(open()?),
            false => digest::<Sha256>(open()?),
        }
        .map_err(Error::read(name.as_str()))?;
        if size != descriptor.size || !name.ends_with(&format!("/{digest}")) {
            return Err(InvalidImage::WrongDigest(name).into());
        }
        open()
    }

    fn file(&self, name: &str) -> io::Result<impl BufRead + use<>> {
        let (file, size) = match self {
            Self::Directory(directory) => (File::open(directory.join(name))?, u64::MAX),
            Self::Archive { path, files } => {
                let found = files.get(name.as_bytes());
                let (start, size) = found.ok_or(io::ErrorKind::NotFound)?;
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*start))?;
                (file, *size)
            }
        };
        Ok(BufReader::with_capacity(BUFFER, file.take(size)))
    }
}

const BUFFER: usize = 128 << 10;

const SHA256: &str = "sha256:";
const SHA512: &str = "sha512:";

/// Returns the path of a blob. Its digest is checked to have only letters and digits, so the path
/// leads nowhere else.
fn name_of(descriptor: &Descriptor) -> Result<String, Error> {
    let digest = descriptor.digest.as_str();
    let known = [(SHA256, 64), (SHA512, 128)].iter().any(|(kind, length)| {
        let hex = digest.strip_prefix(kind).unwrap_or_default();
        hex.len() == *length
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    match known {
        true => Ok(format!("blobs/{}", digest.replace(':', "/"))),
        false => Err(InvalidImage::NoDigest(digest.to_owned()).into()),
    }
}

fn digest<D: Digest>(mut blob: impl BufRead) -> io::Result<(u64, String)> {
    let (mut hash, mut size) = (D::new(), 0);
    loop {
        let piece = blob.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        hash.update(piece);
        let length = piece.len();
        size += length as u64;
        blob.consume(length);
    }
    let bytes = hash.finalize();
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((size, hex))
}

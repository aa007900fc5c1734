//! Packages: a zip with the executable `exec`, made from a crate, an executable or a zip; or a source file.

mod archive;
mod build;
pub mod error;
mod executable;
pub mod source;
mod target;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_client::Client;

use crate::args::BuildArgs;
use crate::error::Error;
use error::PackageError;

/// The largest package, in bytes: no platform accepts more, and a platform's own limit is usually lower.
const LARGEST: u64 = 1 << 30;

const RUST: &str = "rust";

const ELF: &[u8] = b"\x7fELF";

/// A package to upload.
pub struct Package {
    /// The program's name: that of its binary or its file.
    pub name: String,
    /// Its kind and code.
    pub exec: burst_client::Package,
    /// Size of the code in bytes.
    pub size: u64,
}

/// Makes the package to upload from the file or directory at the path. A crate is built for the client's platform.
pub fn prepare(
    path: &Path,
    args: &BuildArgs,
    client: &Client,
    verbose: bool,
) -> Result<Package, Error> {
    let found = fs::metadata(path).map_err(Error::file("read", path))?;
    let kind = args.kind.as_deref().map(source::complete);
    let kind = kind.or_else(|| source::by_ending(path).map(Into::into));
    let is_rust = |kind: &String| kind == RUST || kind.starts_with("rust:");
    if found.is_dir() && args.kind.is_none() && args.main.is_none() {
        let built = build::run(path, args, client, verbose)?;
        return pack(&built, RUST.into());
    }
    if found.is_dir() {
        return Err(Error::Usage(
            "--kind and --main apply to files: a directory is built as a Rust crate; zip code in another language".into(),
        ));
    }
    if args.bin.is_some() || args.target.is_some() {
        return Err(Error::Usage(
            "--bin and --target apply only to the directory of a crate".into(),
        ));
    }
    match kind {
        Some(kind) if !is_rust(&kind) => {
            let bytes = read_some(path)?;
            let size = bytes.len() as u64;
            let (code, _) = source::encoded(bytes);
            Ok(package(path, kind, code, args.main.clone(), size))
        }
        _ if args.main.is_some() => Err(Error::Usage(
            "--main applies only to Python and Node: name the language with --kind".into(),
        )),
        _ => pack(path, args.kind.clone().unwrap_or_else(|| RUST.into())),
    }
}

fn pack(path: &Path, kind: String) -> Result<Package, Error> {
    let bytes = zip(path)?;
    let size = bytes.len() as u64;
    let code = STANDARD.encode(bytes);
    Ok(package(path, kind, code, None, size))
}

fn package(path: &Path, kind: String, code: String, main: Option<String>, size: u64) -> Package {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Package {
        // Both endings of a `tar.gz` are removed from the name.
        name: stem.strip_suffix(".tar").unwrap_or(&stem).to_owned(),
        exec: burst_client::Package { kind, code, main },
        size,
    }
}

/// Returns the zip of an executable, or a zip that contains one, unchanged.
pub fn zip(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = read_some(path)?;
    let name = path.display().to_string();
    if bytes.starts_with(archive::MAGIC) {
        executable::check(
            &archive::executable(&bytes, &name)?,
            &format!("exec in {name}"),
        )?;
        return Ok(bytes);
    }
    executable::check(&bytes, &name)?;
    Ok(archive::pack(&bytes)?)
}

/// Whether the bytes are those of an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF)
}

/// Reads a file that must not be empty.
fn read_some(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = read(path)?;
    match bytes.is_empty() {
        true => Err(PackageError::Empty(path.to_owned()).into()),
        false => Ok(bytes),
    }
}

/// Reads a file that must not be larger than any platform accepts.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let refused = || too_large(path.display().to_string()).into();
    let file = File::open(path).map_err(Error::file("read", path))?;
    if file.metadata().map_err(Error::file("read", path))?.len() > LARGEST {
        return Err(refused());
    }
    // A device or a pipe has no size beforehand.
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    match read.map_err(Error::file("read", path))? as u64 > LARGEST {
        true => Err(refused()),
        false => Ok(bytes),
    }
}

fn too_large(name: String) -> PackageError {
    let limit = crate::output::size(LARGEST);
    PackageError::TooLarge { name, limit }
}

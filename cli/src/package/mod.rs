//! Packages: a zip with the executable `exec`, from a crate, an executable or a zip.

mod archive;
mod build;
mod executable;
mod target;

use std::fs;
use std::path::Path;

use burst_client::Client;

use crate::args::BuildArgs;
use crate::error::Error;

/// More than any platform takes; the platform's own limit is usually lower.
const LARGEST: u64 = 1 << 30;

/// What is uploaded.
pub struct Package {
    /// Of the program: its binary's, or its file's.
    pub name: String,
    /// The zip.
    pub bytes: Vec<u8>,
}

/// Makes the package to upload out of what the path leads to. A crate is built for the platform of the client.
pub fn prepare(
    path: &Path,
    args: &BuildArgs,
    client: &Client,
    verbose: bool,
) -> Result<Package, Error> {
    let found = fs::metadata(path).map_err(Error::file("read", path))?;
    if found.is_dir() {
        let built = build::run(path, args, client, verbose)?;
        return pack(&built);
    }
    if args.bin.is_some() || args.target.is_some() {
        return Err(Error::Usage(
            "--bin and --target say how a crate is built, and this is no directory of one".into(),
        ));
    }
    pack(path)
}

fn pack(path: &Path) -> Result<Package, Error> {
    let stem = path.file_stem().unwrap_or_default();
    Ok(Package {
        name: stem.to_string_lossy().into_owned(),
        bytes: zipped(path)?,
    })
}

/// The zip of an executable, or a zip with one as it is.
pub fn zip(path: &Path) -> Result<Vec<u8>, Error> {
    zipped(path)
}

fn zipped(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = read(path)?;
    let name = path.display().to_string();
    if bytes.starts_with(archive::MAGIC) {
        executable::check(
            &archive::executable(&bytes, &name)?,
            &format!("exec in {name}"),
        )?;
        return Ok(bytes);
    }
    executable::check(&bytes, &name)?;
    archive::pack(&bytes)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let size = fs::metadata(path).map_err(Error::file("read", path))?.len();
    if size == 0 {
        return Err(Error::Build(format!("{} is empty", path.display())));
    }
    if size > LARGEST {
        return Err(too_large(&path.display().to_string()));
    }
    fs::read(path).map_err(Error::file("read", path))
}

fn too_large(name: &str) -> Error {
    let limit = crate::output::size(LARGEST);
    Error::Build(format!(
        "{name} is larger than {limit}; build it with less debug information"
    ))
}

//! A layer laid upon others: a tar, in which some names say what of the layers below is to go.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use tar::{Archive, Entry, EntryType};

use crate::tree::{Name, Tree};
use crate::{Error, InvalidImage};

/// Before the name of what is to go.
const WHITEOUT: &[u8] = b".wh.";

/// Of all that is in a directory.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// With this begins what only one file system makes something of.
const OTHERS: &[u8] = b".wh..wh.";

/// Bytes that may come of one layer; far more than what any file in it has is nothing but waste.
const UNPACKED: u64 = 16 << 30;

/// Lays it upon what is there.
pub(crate) fn apply(layer: impl Read, tree: &mut Tree) -> Result<(), Error> {
    tree.next_layer();
    let failed = || Error::read("a layer");
    let mut archive = Archive::new(layer.take(UNPACKED));
    for entry in archive.entries().map_err(failed())? {
        lay(entry.map_err(failed())?, tree)?;
    }
    Ok(())
}

fn lay(entry: Entry<'_, impl Read>, tree: &mut Tree) -> Result<(), Error> {
    let Some(name) = Name::read(&entry.path_bytes())? else {
        return Ok(());
    };
    let (above, last) = name.split();
    if let Some(hidden) = last.as_bytes().strip_prefix(WHITEOUT) {
        return match last.as_bytes() {
            OPAQUE => tree.empty(above),
            other if other.starts_with(OTHERS) => Ok(()),
            _ if matches!(hidden, b"" | b"." | b"..") => Err(InvalidImage::HiddenRoot.into()),
            _ => tree.remove(above, OsStr::from_bytes(hidden)),
        };
    }
    let header = entry.header();
    let mode = header.mode().unwrap_or(0);
    let modified = header.mtime().unwrap_or(0);
    match header.entry_type() {
        EntryType::Directory => tree.directory(&name),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            tree.file(&name, mode, modified, entry)
        }
        EntryType::Symlink => tree.link(&name, &target(&entry)?),
        EntryType::Link => match Name::read(&target(&entry)?)? {
            Some(target) => tree.hard_link(&name, &target),
            None => Err(InvalidImage::DeadLink.into()),
        },
        // Devices and pipes, of which packs have their own.
        _ => Ok(()),
    }
}

fn target(entry: &Entry<'_, impl Read>) -> Result<Vec<u8>, Error> {
    let target = entry.link_name_bytes().filter(|target| !target.is_empty());
    let target = target.ok_or(InvalidImage::DeadLink)?;
    Ok(target.into_owned())
}

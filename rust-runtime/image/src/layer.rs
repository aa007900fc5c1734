//! Applies a layer on top of others: a tar, in which some names (whiteouts) delete what is in the
//! layers below.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use tar::{Archive, Entry, EntryType};

use crate::tree::{Name, Tree};
use crate::{Error, InvalidImage};

/// The prefix of a whiteout, before the name of the entry that it deletes.
const WHITEOUT: &[u8] = b".wh.";

/// The whiteout of everything in a directory.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// The prefix of names that only one file system (AUFS) gives a meaning; they are ignored.
const OTHERS: &[u8] = b".wh..wh.";

/// The most bytes that are read of one decompressed layer; what exceeds the files it can have is
/// only waste.
const UNPACKED: u64 = 16 << 30;

/// Applies a layer to the tree.
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
        // Devices and pipes are left out: packs have their own.
        _ => Ok(()),
    }
}

fn target(entry: &Entry<'_, impl Read>) -> Result<Vec<u8>, Error> {
    let target = entry.link_name_bytes().filter(|target| !target.is_empty());
    let target = target.ok_or(InvalidImage::DeadLink)?;
    Ok(target.into_owned())
}

//! Unpacked roots, each in a directory named after its digest.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::compression::unpacked;
use crate::image::Image;
use crate::layer;
use crate::layout::Layout;
use crate::tree::{Name, Tree};

/// A complete root, and labels of its image.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unpacked {
    /// The directory of the root.
    pub root: PathBuf,
    /// The labels that begin with `burst.`.
    pub labels: BTreeMap<String, String>,
}

/// The name of a root that is not complete yet.
const UNFINISHED: &str = "unfinished";

const LABELS: &str = "burst.";

/// Files that are mounted over in packs, for which the root must have a file there.
const FILES: [&str; 2] = ["etc/hosts", "etc/resolv.conf"];

/// Unpacks the image for this machine into a directory below `directory`, unless it is already there. Nobody else may
/// use `directory`: everything else in it is removed, such as what a killed process has left.
///
/// # Errors
/// When the image is invalid, or cannot be written to this machine's disk; then no root is left.
pub fn unpack(image: &Path, directory: &Path) -> Result<Unpacked, Error> {
    let layout = Layout::open(image)?;
    let image = Image::find(&layout)?;
    let name = image.digest.replace(':', "-");
    let root = directory.join(&name);
    fs::create_dir_all(directory).map_err(Error::write(directory))?;
    keep_only(directory, &name).map_err(Error::write(directory))?;
    if !root.exists() {
        let unfinished = directory.join(UNFINISHED);
        let finished = lay_out(&layout, &image, &unfinished).and_then(|()| {
            let renamed = settle(&unfinished).and_then(|()| fs::rename(&unfinished, &root));
            renamed.map_err(Error::write(&root))
        });
        if finished.is_err() {
            // If this fails, the next call removes it.
            let _ = fs::remove_dir_all(&unfinished);
        }
        finished?;
    }
    let labels = image.labels.into_iter();
    Ok(Unpacked {
        root,
        labels: labels
            .filter(|(name, _)| name.starts_with(LABELS))
            .collect(),
    })
}

fn keep_only(directory: &Path, name: &str) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != name {
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    Ok(())
}

fn lay_out(layout: &Layout, image: &Image, target: &Path) -> Result<(), Error> {
    fs::create_dir(target).map_err(Error::write(target))?;
    let mut tree = Tree::new(target.to_owned());
    for descriptor in &image.layers {
        let blob = layout.blob(descriptor)?;
        layer::apply(unpacked(blob, &descriptor.media_type)?, &mut tree)?;
    }
    tree.next_layer();
    for file in FILES {
        if let Some(name) = Name::read(file.as_bytes())? {
            tree.file(&name, 0, 0, io::empty())?;
        }
    }
    Ok(())
}

/// Makes a root readable and flushes it to the disk, before it counts as complete.
fn settle(root: &Path) -> io::Result<()> {
    fs::set_permissions(root, Permissions::from_mode(0o755))?;
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

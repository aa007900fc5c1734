//! The roots that were unpacked, each in a directory named by its digest.

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

/// A root that is complete, and what its image says of it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unpacked {
    /// Where.
    pub root: PathBuf,
    /// Of the labels, those that begin with `burst.`.
    pub labels: BTreeMap<String, String>,
}

/// What is not complete yet.
const UNFINISHED: &str = "unfinished";

const LABELS: &str = "burst.";

/// What the runtime gives packs in place of what a root has there, if it has a file.
const FILES: [&str; 2] = ["etc/hosts", "etc/resolv.conf"];

/// Unpacks what of the image is for this machine into the directory, which is nobody else's, unless it is there
/// already. All else that is in the directory goes, such as what one that was killed has left.
///
/// # Errors
/// When the image is at fault, or this machine cannot hold it; then nothing is there.
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
            // The next one would remove it as well.
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

/// On the disk, before it is taken for complete.
fn settle(root: &Path) -> io::Result<()> {
    fs::set_permissions(root, Permissions::from_mode(0o755))?;
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

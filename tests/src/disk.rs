//! The files below a directory, and a disk that fills up quickly.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{account, command, wait};

/// All files below a directory. Files of packs that end during the search, and directories, may have been removed by
/// the time they are looked at.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// A small file system mounted over a directory; dropping it unmounts it.
#[derive(Debug)]
pub struct SmallDisk(String);

/// The file that takes up all remaining space of a disk.
const FILLING: &str = "filling";

impl SmallDisk {
    /// Mounts a file system of this many mebibytes. This needs root.
    #[track_caller]
    pub fn over(directory: &Path, size: u32) -> Self {
        let place = directory.to_str().unwrap().to_owned();
        let options = format!("size={size}m,mode=755,{}", account::mount_options());
        mount(&["-t", "tmpfs", "-o", &options, "tmpfs", &place]);
        Self(place)
    }

    /// Fills all remaining space.
    #[track_caller]
    pub fn fill(&self) {
        let mut file = fs::File::create(Path::new(&self.0).join(FILLING)).unwrap();
        let failure = io::copy(&mut io::repeat(0), &mut file).unwrap_err();
        assert_eq!(failure.kind(), io::ErrorKind::StorageFull, "{failure}");
    }

    /// Frees the space that [`SmallDisk::fill`] took.
    #[track_caller]
    pub fn free(&self) {
        fs::remove_file(Path::new(&self.0).join(FILLING)).unwrap();
    }

    /// Enlarges the file system.
    #[track_caller]
    pub fn grow(&self) {
        mount(&["-o", "remount,size=256m", &self.0]);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: packs may still run from it.
        let _ = Command::new("umount").args(["--lazy", &self.0]).status();
    }
}

#[track_caller]
fn mount(arguments: &[&str]) {
    let finished = command::run(Command::new("mount").args(arguments), wait::SOON);
    assert_eq!(
        finished.code,
        Some(0),
        "small disks need root: {finished:#?}"
    );
}

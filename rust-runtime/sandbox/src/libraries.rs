//! The files of this machine that a program needs: the loader, C libraries, certificates and time
//! zones.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The loaders that executables name.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Links to directories below `/usr` on most machines.
const LIBRARIES: [&str; 4] = ["/lib", "/lib32", "/lib64", "/libx32"];

const DATA: [&str; 7] = [
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
];

/// Paths that the pack sees where they are on the machine.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    pub(crate) paths: BTreeSet<PathBuf>,
    /// A link's own path, and where it leads.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

/// Finds this machine's libraries, by those that this process uses itself.
pub(crate) fn find() -> io::Result<Libraries> {
    let mut found = Libraries::default();
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let mapped = line.find('/').map(|start| Path::new(&line[start..]));
        if let Some(library) = mapped.filter(|path| is_library(path)) {
            found.paths.extend(library.parent().map(Path::to_owned));
        }
    }
    for loader in LOADERS.map(Path::new) {
        if let (Some(directory), Some(name)) = (loader.parent(), loader.file_name())
            && loader.exists()
        {
            found.paths.insert(fs::canonicalize(directory)?.join(name));
        }
    }
    for directory in LIBRARIES {
        if let Ok(target) = fs::read_link(directory) {
            found.links.push((directory.into(), target));
        }
    }
    let data = DATA.into_iter().filter(|path| Path::new(path).exists());
    found.paths.extend(data.map(PathBuf::from));
    Ok(found)
}

fn is_library(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.contains(".so.") || name.ends_with(".so"))
}

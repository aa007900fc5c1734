//! This machine's interpreters with their libraries, and the tools that scripts call. Programs in their languages run
//! under launchers of ours, or are executed directly.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The interpreters that run launchers.
const NAMES: [&str; 2] = ["node", "python3"];

/// The programs that execute scripts, and those that scripts take for granted.
const TOOLS: [&str; 47] = [
    "[", "awk", "base64", "basename", "bash", "cat", "chmod", "cp", "cut", "date", "dirname",
    "echo", "env", "expr", "false", "find", "grep", "gzip", "head", "id", "jq", "ln", "ls",
    "mkdir", "mktemp", "mv", "printf", "readlink", "rm", "rmdir", "sed", "seq", "sh", "sleep",
    "sort", "stat", "tail", "tar", "tee", "test", "touch", "tr", "true", "uname", "uniq", "wc",
    "xargs",
];

const ELF: [u8; 4] = *b"\x7fELF";

/// Paths that the pack sees where they are on the machine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Interpreters {
    pub(crate) paths: BTreeSet<PathBuf>,
    /// A link's own path, and where it leads.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

/// Where programs look for tools by default.
const DIRECTORIES: [&str; 2] = ["/usr/bin", BIN];

/// A link on most machines.
const BIN: &str = "/bin";

/// Finds the first interpreter of each name on the search path, and this machine's tools. Scripts by these names, such
/// as the shims of version managers, do not count.
///
/// Tools are left out that lie in, or around, a directory of the operator's: the operator decides what is there.
pub(crate) fn find(search_path: &OsStr, given: &[&Path]) -> Interpreters {
    let linked = fs::read_link(BIN)
        .ok()
        .map(|target| Path::new("/").join(target));
    let machines = |directory: PathBuf| match &linked {
        Some(target) if directory == Path::new(BIN) => target.clone(),
        _ => directory,
    };
    let mut found = Interpreters::default();
    let on_path: Vec<_> = std::env::split_paths(search_path).map(machines).collect();
    found.add(&NAMES, &on_path);
    let mut tools = Interpreters::default();
    tools.add(&TOOLS, &DIRECTORIES.map(PathBuf::from).map(machines));
    if let Some(target) = &linked {
        tools.links.push((BIN.into(), target.clone()));
    }
    let is_free = |path: &Path| {
        !given
            .iter()
            .any(|it| path.starts_with(it) || it.starts_with(path))
    };
    found
        .paths
        .extend(tools.paths.into_iter().filter(|path| is_free(path)));
    let links = tools.links.into_iter();
    found.links.extend(links.filter(|(path, _)| is_free(path)));
    found
}

impl Interpreters {
    fn add(&mut self, names: &[&str], directories: &[PathBuf]) {
        for name in names {
            let absolute = directories.iter().filter(|path| path.is_absolute());
            let mut binaries = absolute.filter_map(|path| binary(path.join(name)));
            if let Some((path, real)) = binaries.next() {
                self.paths.extend(libraries_of(&real));
                if path != real {
                    self.links.push((path, real.clone()));
                }
                self.paths.insert(real);
            }
        }
    }
}

/// An executable, and the file itself if the path is a link.
fn binary(path: PathBuf) -> Option<(PathBuf, PathBuf)> {
    let real = path.canonicalize().ok()?;
    let about = real.metadata().ok()?;
    let mut head = [0; ELF.len()];
    File::open(&real).ok()?.read_exact(&mut head).ok()?;
    let executable = about.is_file() && about.permissions().mode() & 0o111 != 0;
    (executable && head == ELF).then_some((path, real))
}

/// The libraries of `PREFIX/bin/python3.11` in `PREFIX/lib`, and the global packages of `PREFIX/bin/node`, including
/// npm; none for other programs.
fn libraries_of(binary: &Path) -> Vec<PathBuf> {
    let (Some(name), Some(prefix)) = (
        binary.file_name().and_then(OsStr::to_str),
        binary.parent().and_then(Path::parent),
    ) else {
        return Vec::new();
    };
    if name == "node" {
        // On Debian, npm installs global packages in /usr/local.
        let other = (prefix == Path::new("/usr")).then_some(Path::new("/usr/local"));
        let prefixes = other.into_iter().chain([prefix]);
        let packages = prefixes.map(|prefix| prefix.join("lib/node_modules"));
        return packages.filter(|path| path.is_dir()).collect();
    }
    if !name.starts_with("python3.") {
        return Vec::new();
    }
    let mut directories = vec![prefix.join("lib"), prefix.join("lib64")];
    if prefix == Path::new("/usr") {
        directories.push("/usr/local/lib".into());
    }
    // Debian keeps what its versions share in `python3`.
    let wanted = [
        name.to_owned(),
        "python3".to_owned(),
        format!("lib{name}.so.1.0"),
    ];
    let all = directories.iter().flat_map(|directory| {
        let wanted = wanted.iter();
        wanted.map(move |name| directory.join(name))
    });
    all.filter(|path| fs::metadata(path).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    fn put(path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_binary_is_seen_with_its_libraries_and_a_script_in_its_name_is_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        put(&at("shims/python3"), b"#!/bin/sh");
        put(&at("own/bin/python3.11"), b"\x7fELF");
        put(&at("own/lib/python3.11/os.py"), b"");
        put(&at("own/lib/other/os.py"), b"");
        put(&at("bin/node"), b"\x7fELF");
        put(&at("lib/node_modules/npm/package.json"), b"{}");
        symlink(at("own/bin/python3.11"), at("bin/python3")).unwrap();
        let paths = [
            "own/bin/python3.11",
            "own/lib/python3.11",
            "bin/node",
            "lib/node_modules",
        ]
        .map(at);
        let found = |directories: &[PathBuf]| {
            let mut found = Interpreters::default();
            found.add(&NAMES, directories);
            found
        };
        assert_eq!(
            found(&["shims", "bin"].map(at)),
            Interpreters {
                paths: paths.into(),
                links: vec![(at("bin/python3"), at("own/bin/python3.11"))],
            }
        );
        let none = ["/nowhere", "relative"].map(PathBuf::from);
        assert_eq!(found(&none), Interpreters::default());
    }

    #[test]
    fn a_shell_is_where_scripts_say_it_is() {
        let found = find(OsStr::new("/bin:/usr/bin"), &[]);
        let seen = |path: &str| {
            let mut path = PathBuf::from(path);
            // As the kernel would resolve it in a root with nothing else.
            for _ in 0..40 {
                let links = found.links.iter();
                let mut leading = links.filter_map(|(link, target)| {
                    let rest = path.strip_prefix(link).ok()?;
                    Some(target.join(rest))
                });
                match leading.next() {
                    Some(next) => path = next.components().collect(),
                    None => return found.paths.contains(&path),
                }
            }
            false
        };
        assert!(seen("/bin/sh"), "{found:?}");
        assert!(seen("/usr/bin/env"), "{found:?}");
        // No path may lie below a link, where nothing can be created.
        let below = |path: &PathBuf| {
            found
                .links
                .iter()
                .any(|(link, _)| path != link && path.starts_with(link))
        };
        assert!(
            !found.links.iter().any(|(path, _)| below(path)),
            "{found:?}"
        );
        assert!(!found.paths.iter().any(below), "{found:?}");
        for given in ["/bin", "/usr/bin/sh", "/usr"] {
            let given = Path::new(given);
            let found = find(OsStr::new(""), &[given]);
            let links = found.links.iter().map(|(path, _)| path);
            let mut all = found.paths.iter().chain(links);
            assert!(!all.any(|path| path.starts_with(given)), "{found:?}");
        }
    }
}

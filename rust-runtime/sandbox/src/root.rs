//! What a pack sees of the machine's files, and which namespaces are its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hakoniwa::{Container, MountOptions, Namespace, Rlimit, Runctl};

use rustix::process::{Resource, getrlimit};

use crate::Error;
use crate::credentials::{INSIDE, SCAFFOLD, may_make_walls};
use crate::directories::Directory;
use crate::interpreters;
use crate::libraries;
use crate::spec::Limits;

/// Where the runtime's binary lies for process 1.
pub(crate) const RUNTIME: &str = "/run/burst/burst-runtime";

/// Where the sockets of this machine's packs lie.
pub(crate) const SOCKETS: &str = "/run/burst/sockets";

/// Where interpreters are looked for if the environment does not say, by the runtime in a pack, too.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The machine's devices that a pack has.
pub(crate) const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// What the pack alone writes to.
pub(crate) const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];

/// What of it may have directories of the operator's in it.
const OPEN: [&str; 1] = ["/tmp"];

/// Where no directory of the operator's may be, whether or not this sandbox has anything there.
const RESERVED: [&str; 5] = ["/dev", "/package", "/proc", "/run/burst", "/sys"];

/// Of a root that is given, what is not taken from there.
const OURS: [&str; 6] = ["dev", "package", "proc", "run", "sys", "tmp"];

/// What is to be seen.
#[derive(Debug)]
pub(crate) struct Root<'a> {
    pub(crate) runtime: &'a Path,
    pub(crate) package: Option<&'a Path>,
    pub(crate) sockets: Option<&'a Path>,
    /// In place of this machine's C library.
    pub(crate) directory: Option<&'a Path>,
    /// Whether those of this machine are seen beside its C library: each costs mounts.
    pub(crate) interpreters: bool,
    /// Those of the operator's.
    pub(crate) directories: &'a [Directory],
    /// Paths of this machine, and where they are seen.
    pub(crate) shown: Vec<(PathBuf, &'static str)>,
    /// MiB of the two.
    pub(crate) scratch: [u32; 2],
}

impl Root<'_> {
    /// All walls but those that process 1 makes.
    pub(crate) fn container(&self, limits: &Limits, counted: bool) -> Result<Container, Error> {
        let mut layout = Layout::empty();
        for namespace in [
            Namespace::Mount,
            Namespace::Pid,
            Namespace::Network,
            Namespace::Ipc,
            Namespace::Uts,
        ] {
            layout.container.unshare(namespace);
        }
        layout.container.rootdir(SCAFFOLD).hostname("pack");
        // What it makes of a mount's flags is not what was asked for: process 1 sets them again.
        layout.container.runctl(Runctl::MountFallback);
        layout.container.procfsmount("/proc");
        let shown = match self.directory {
            Some(directory) => layout.show_root(directory),
            None => layout.show_libraries(),
        };
        shown.map_err(|reason| Error::kernel("to lay out a root", reason))?;
        if self.interpreters && self.directory.is_none() {
            layout.show_interpreters(self.directories);
        }
        layout.show(self.runtime, RUNTIME);
        for (path, target) in [(self.package, "/package"), (self.sockets, SOCKETS)] {
            if let Some(path) = path {
                layout.show(path, target);
            }
        }
        for (path, target) in &self.shown {
            layout.show(path, target);
        }
        layout.devices();
        layout.scratch(self.scratch);
        for directory in self.directories {
            layout.give(directory)?;
        }
        limit(&mut layout.container, limits, counted);
        Ok(layout.container)
    }

    /// Whether it has this file, in whose place the pack can see another one: nothing is made in a directory that
    /// others use as well.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.directory.is_none_or(|directory| {
            let found = fs::symlink_metadata(directory.join(file));
            found.is_ok_and(|found| found.is_file())
        })
    }

    /// The scratch directories in which nothing is but what packs have left.
    pub(crate) fn emptied(&self) -> Vec<&'static str> {
        let holds = |scratch: &str| {
            let mut targets = self.directories.iter().map(|it| Path::new(&it.target));
            targets.any(|target| target.starts_with(scratch))
        };
        SCRATCH.into_iter().filter(|it| !holds(it)).collect()
    }
}

/// A root as it comes to be.
struct Layout {
    container: Container,
    /// What it has.
    taken: Vec<PathBuf>,
}

impl Layout {
    fn empty() -> Self {
        Self {
            container: Container::empty(),
            taken: RESERVED.map(PathBuf::from).into(),
        }
    }

    fn devices(&mut self) {
        for device in DEVICES {
            self.show(Path::new(device), device);
        }
        for (link, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ] {
            self.link(link, target);
        }
    }

    fn scratch(&mut self, sizes: [u32; 2]) {
        for (target, mebibytes) in SCRATCH.into_iter().zip(sizes) {
            let flags = MountOptions::NOSUID | MountOptions::NODEV | MountOptions::NOEXEC;
            // Each file costs memory beside its bytes.
            let files = u64::from(mebibytes) * 256;
            let data = format!("size={mebibytes}m,nr_inodes={files},mode=1777");
            self.container
                .mount("tmpfs", target, "tmpfs", flags, Some(data));
            self.taken.push(target.into());
        }
    }

    fn give(&mut self, directory: &Directory) -> Result<(), Error> {
        directory.check_place(&self.taken, &OPEN)?;
        let mut flags = MountOptions::BIND | MountOptions::REC;
        // Else root would take this flag from it.
        flags.set(MountOptions::NOEXEC, directory.inert);
        self.bind(&directory.source, &directory.target, flags);
        Ok(())
    }

    fn show(&mut self, path: &Path, target: &str) {
        // With what is mounted below: who is not root may not look behind it.
        self.bind(path, target, MountOptions::BIND | MountOptions::REC);
    }

    fn bind(&mut self, path: &Path, target: &str, flags: MountOptions) {
        let path = path.to_string_lossy();
        self.container.mount(&path, target, "", flags, None);
        self.taken.push(target.into());
    }

    fn link(&mut self, link: &str, target: &str) {
        self.container.symlink(target, link);
        self.taken.push(link.into());
    }

    fn show_libraries(&mut self) -> io::Result<()> {
        let libraries = libraries::find()?;
        for path in &libraries.paths {
            self.show(path, &path.to_string_lossy());
        }
        for (link, target) in &libraries.links {
            self.link(&link.to_string_lossy(), &target.to_string_lossy());
        }
        let id = INSIDE;
        for (file, contents) in [
            (
                "/etc/passwd",
                format!("pack:x:{id}:{id}:pack:/tmp:/bin/false\n"),
            ),
            ("/etc/group", format!("pack:x:{id}:\n")),
            ("/etc/hosts", String::new()),
            ("/etc/resolv.conf", String::new()),
            (
                "/etc/nsswitch.conf",
                "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
            ),
        ] {
            self.container.file(file, &contents);
            self.taken.push(file.into());
        }
        self.container.dir("/etc", 0o755);
        Ok(())
    }

    fn show_interpreters(&mut self, directories: &[Directory]) {
        let search_path = std::env::var_os("PATH").unwrap_or_else(|| SEARCH_PATH.into());
        let given: Vec<_> = directories.iter().map(|it| Path::new(&it.target)).collect();
        let found = interpreters::find(&search_path, &given);
        for path in &found.paths {
            self.show(path, &path.to_string_lossy());
        }
        for (link, target) in &found.links {
            self.link(&link.to_string_lossy(), &target.to_string_lossy());
        }
    }

    /// Each entry by itself: nothing can be made in a root that others use as well.
    fn show_root(&mut self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if OURS.contains(&name.as_ref()) {
                continue;
            }
            let target = format!("/{name}");
            match entry.file_type()?.is_symlink() {
                true => {
                    let link = fs::read_link(entry.path())?;
                    self.link(&target, &link.to_string_lossy());
                }
                false => self.show(&entry.path(), &target),
            }
        }
        Ok(())
    }
}

/// What is held for each process, or for its user, whom the kernel counts by namespaces; but for descriptors, of which
/// process 1 sends some before.
fn limit(container: &mut Container, limits: &Limits, counted: bool) {
    let mut held = vec![
        // With 0 a crash would have the machine's handler of cores run, where it has one; with 1 it has not.
        (Rlimit::Core, Resource::Core, 1),
        (Rlimit::Memlock, Resource::Memlock, 64 << 10),
        (Rlimit::Msgqueue, Resource::Msgqueue, 0),
        (Rlimit::Nice, Resource::Nice, 0),
        (Rlimit::Rtprio, Resource::Rtprio, 0),
        (Rlimit::Sigpending, Resource::Sigpending, 4096),
    ];
    if !counted {
        held.push((Rlimit::Nproc, Resource::Nproc, limits.processes.into()));
    }
    for (limit, resource, most) in held {
        // Only root may have more than it has.
        let bound = getrlimit(resource).maximum.filter(|_| !may_make_walls());
        let most = bound.map_or(most, |bound| bound.min(most));
        container.setrlimit(limit, most, most);
    }
}

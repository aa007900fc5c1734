//! The files of the machine that a pack sees, and the namespaces of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hakoniwa::{Container, MountOptions, Namespace, Rlimit, Runctl};

use rustix::process::{Resource, getrlimit};

use crate::Error;
use crate::credentials::{INSIDE, SCAFFOLD, may_make_namespaces};
use crate::directories::Directory;
use crate::interpreters;
use crate::libraries;
use crate::spec::Limits;

/// The path of the runtime's binary for process 1.
pub(crate) const RUNTIME: &str = "/run/burst/burst-runtime";

/// The directory of the sockets of this machine's packs.
pub(crate) const SOCKETS: &str = "/run/burst/sockets";

/// Where interpreters are looked for if the environment does not say, also by the runtime in a pack.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The devices of the machine that a pack sees.
pub(crate) const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// Directories that only the pack writes to.
pub(crate) const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];

/// Those in which directories of the operator's may be mounted.
const OPEN: [&str; 1] = ["/tmp"];

/// Where no directory of the operator's may be mounted, whether or not this sandbox has anything there.
const RESERVED: [&str; 5] = ["/dev", "/package", "/proc", "/run/burst", "/sys"];

/// Entries that are not taken from a given root.
const OURS: [&str; 6] = ["dev", "package", "proc", "run", "sys", "tmp"];

/// The contents of a pack's root.
#[derive(Debug)]
pub(crate) struct Root<'a> {
    pub(crate) runtime: &'a Path,
    pub(crate) package: Option<&'a Path>,
    pub(crate) sockets: Option<&'a Path>,
    /// A root to use instead of this machine's C library.
    pub(crate) directory: Option<&'a Path>,
    /// Whether this machine's interpreters are visible besides its C library: each costs mounts.
    pub(crate) interpreters: bool,
    /// Directories of the operator's.
    pub(crate) directories: &'a [Directory],
    /// Paths of this machine, and where the pack sees them.
    pub(crate) shown: Vec<(PathBuf, &'static str)>,
    /// Sizes of the two scratch directories in MiB.
    pub(crate) scratch: [u32; 2],
}

impl Root<'_> {
    /// Describes all of the isolation except what process 1 sets up.
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
        // hakoniwa may fall back to other mount flags than were asked for: process 1 sets them again.
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

    /// Whether the root has this file, over which another can be mounted for the pack: nothing is created in a
    /// directory that others use as well.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.directory.is_none_or(|directory| {
            let found = fs::symlink_metadata(directory.join(file));
            found.is_ok_and(|found| found.is_file())
        })
    }

    /// The scratch directories that hold only what packs have left there.
    pub(crate) fn emptied(&self) -> Vec<&'static str> {
        let holds = |scratch: &str| {
            let mut targets = self.directories.iter().map(|it| Path::new(&it.target));
            targets.any(|target| target.starts_with(scratch))
        };
        SCRATCH.into_iter().filter(|it| !holds(it)).collect()
    }
}

/// A root that is being laid out.
struct Layout {
    container: Container,
    /// The paths that it already has.
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
            // Each file costs memory besides that of its contents.
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
        // Without it root would clear this flag.
        flags.set(MountOptions::NOEXEC, directory.inert);
        self.bind(&directory.source, &directory.target, flags);
        Ok(())
    }

    fn show(&mut self, path: &Path, target: &str) {
        // With everything mounted below: an ordinary user may not uncover what a mount hides.
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

    /// Mounts each entry separately: nothing can be created in a root that others use as well.
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

/// Sets the limits that the kernel counts per process, or per user in a namespace; except for descriptors, some of
/// which process 1 sends first.
fn limit(container: &mut Container, limits: &Limits, counted: bool) {
    let mut held = vec![
        // With 0 a crash would run the machine's core dump handler, if it has one; with 1 it does not.
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
        // Only root may raise a limit.
        let bound = getrlimit(resource)
            .maximum
            .filter(|_| !may_make_namespaces());
        let most = bound.map_or(most, |bound| bound.min(most));
        container.setrlimit(limit, most, most);
    }
}

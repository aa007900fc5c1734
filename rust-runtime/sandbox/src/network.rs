//! The pack's network as its shim sees it: a namespace that it can enter, and two files by which names are resolved.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::credentials::SCAFFOLD;

/// A network namespace, which lives at least as long as this value.
#[derive(Debug)]
pub(crate) struct Namespace(OwnedFd);

impl Namespace {
    /// Opens the network namespace of this process.
    pub(crate) fn own() -> io::Result<OwnedFd> {
        File::open("/proc/self/ns/net").map(OwnedFd::from)
    }

    pub(crate) fn of(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Runs `act` in the namespace, to which the sockets it makes then belong. Blocks until `act` has returned.
    pub(crate) fn within<T: Send>(
        &self,
        act: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let visitor = thread::Builder::new().spawn_scoped(scope, || {
                move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
                act()
            })?;
            visitor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// A pack's `/etc/hosts`, which only its shim writes.
#[derive(Debug)]
pub(crate) struct Hosts(File);

/// Its path in the pack's root. Process 1 mounts it at `/etc/hosts`.
pub(crate) const HOSTS: &str = "/run/burst/hosts";

impl Hosts {
    /// Creates the file in the directory where the pack's root is laid out, with the pack's own names in it.
    pub(crate) fn create() -> io::Result<Self> {
        let hosts = Self(create(HOSTS)?);
        hosts.name(&[])?;
        Ok(hosts)
    }

    /// Replaces the names by these and the pack's own.
    pub(crate) fn name(&self, named: &[(String, IpAddr)]) -> io::Result<()> {
        let mut lines = "127.0.0.1 localhost pack\n::1 localhost\n".to_owned();
        for (name, address) in named {
            lines += &format!("{address} {name}\n");
        }
        replace(&self.0, &lines)
    }
}

/// A pack's `/etc/resolv.conf`, which only its shim writes.
#[derive(Debug)]
pub(crate) struct Resolvers(File);

/// Its path in the pack's root. Process 1 mounts it at `/etc/resolv.conf`.
pub(crate) const RESOLVERS: &str = "/run/burst/resolv.conf";

impl Resolvers {
    /// Creates the file in the directory where the pack's root is laid out, without resolvers.
    pub(crate) fn create() -> io::Result<Self> {
        create(RESOLVERS).map(Self)
    }

    pub(crate) fn name(&self, resolvers: &[IpAddr]) -> io::Result<()> {
        let lines = resolvers.iter().map(|it| format!("nameserver {it}\n"));
        replace(&self.0, &lines.collect::<String>())
    }
}

fn create(path: &str) -> io::Result<File> {
    let path = PathBuf::from(format!("{SCAFFOLD}{path}"));
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create(path)
}

fn replace(file: &File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(text.as_bytes(), 0)
}

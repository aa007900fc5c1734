//! The data directory of a process of the platform: created, and locked before anything is written to it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock, open};
use rustix::io::Errno;

use crate::args::platform::ProcessArgs;
use crate::error::{Error, InUse};
use crate::output;
use crate::properties::data_dir;

/// The directory of the JVM's temporary files, in the data directory.
const TEMPORARY: &str = "tmp";

/// The time between two attempts to lock a directory that another process holds: the kernel's own wait has no deadline.
const PAUSE: Duration = Duration::from_millis(100);

/// A data directory that this process has locked. The lock is of a kind that survives when this process becomes the
/// JVM, which then finds that it holds the lock itself.
#[derive(Debug)]
pub struct Data {
    path: PathBuf,
    /// Stays open in the JVM: a process that closes the file loses the lock.
    _lock: File,
}

impl Data {
    /// Creates and locks the given directory, or else the one in the user's home directory whose name has the suffix
    /// `end`. Waits for the lock as long as `args` say.
    pub fn take(args: &ProcessArgs, end: &str) -> Result<Self, Error> {
        let path = match &args.data {
            Some(path) => path.clone(),
            None => data_dir(end).ok_or_else(|| {
                Error::Usage("no home directory: say where data goes with --data".into())
            })?,
        };
        // It will hold keys and everyone's results.
        let mut create = DirBuilder::new();
        create.recursive(true).mode(0o700);
        let path = create
            .create(path.join(TEMPORARY))
            .and_then(|()| fs::canonicalize(&path))
            .map_err(|cause| unusable(&path, &cause))?;
        let lock = lock(&path, args.data_wait)?;
        Ok(Self { path, _lock: lock })
    }

    /// The directory's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the JVM's temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }
}

pub fn unusable(data: &Path, cause: &io::Error) -> Error {
    Error::Usage(format!(
        "{} cannot be used ({cause}): give another directory with --data",
        data.display()
    ))
}

fn lock(data: &Path, wait: Duration) -> Result<File, Error> {
    let file = data.join("lock");
    let failed = |errno: Errno| Error::file("open", &file)(errno.into());
    // Without CLOEXEC: the file stays open when this process becomes the JVM.
    let lock = open(&file, OFlags::CREATE | OFlags::RDWR, Mode::from(0o600)).map_err(failed)?;
    let lock = File::from(lock);
    let asked = Instant::now();
    let mut waits = false;
    loop {
        match fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::ACCESS) => {}
            Err(errno) => return Err(failed(errno)),
        }
        // Read through the same descriptor, for the reason given at `write_owner`.
        let owner = owner(&lock).map_err(Error::file("read", &file))?;
        let data = data.to_owned();
        let used = InUse { data, owner };
        let left = wait.saturating_sub(asked.elapsed());
        if left.is_zero() {
            return Err(Error::InUse(used));
        }
        if !waits {
            output::note(&format!("{used}: waiting for its end"));
            waits = true;
        }
        thread::sleep(PAUSE.min(left));
    }
    write_owner(&lock).map_err(Error::file("write", &file))?;
    Ok(lock)
}

fn owner(lock: &File) -> io::Result<String> {
    let mut text = [0; 32];
    let length = lock.read_at(&mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..length]).trim().to_owned())
}

/// Writes the process's id through the same descriptor: a process that closes any other descriptor of the file loses
/// the lock. The process keeps its id when it becomes the JVM.
fn write_owner(lock: &File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.write_all_at(format!("{}\n", process::id()).as_bytes(), 0)
}

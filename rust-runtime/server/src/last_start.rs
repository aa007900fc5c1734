//! Detects whether any process or thread has begun since all of them were last looked at: if not, that need not be done
//! again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};

use crate::proc_file;

/// Within this time the kernel does not reuse a process number if it has at least [`NUMBERS`] of them, its smallest
/// default.
const NOT_AGAIN: Duration = Duration::from_millis(20);
const NUMBERS: u64 = 32_768;

/// The number that was last given to a process or thread, and when it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastStart {
    last: u64,
    at: Instant,
}

impl LastStart {
    /// Reads the current one, which must be done before the processes are looked at; none if the kernel does not report
    /// it.
    pub(crate) fn now() -> Option<Self> {
        let last = LAST.as_ref().and_then(number)?;
        let at = Instant::now();
        Some(Self { last, at })
    }

    /// Returns the current one, if certainly nothing has begun since this one.
    pub(crate) fn renewed(self) -> Option<Self> {
        let now = Self::now()?;
        let same = now.last == self.last && now.at.duration_since(self.at) < NOT_AGAIN;
        same.then_some(now)
    }
}

/// The file that shows which number the kernel last gave to a process or a thread in this namespace of process numbers.
static LAST: LazyLock<Option<File>> = LazyLock::new(|| {
    let numbers = proc_file::read_text("/proc/sys/kernel/pid_max").ok()?;
    numbers
        .trim()
        .parse()
        .ok()
        .filter(|it: &u64| *it >= NUMBERS)?;
    let file = File::open("/proc/loadavg").ok()?;
    fstatfs(&file)
        .ok()
        .filter(|of| of.f_type == PROC_SUPER_MAGIC)?;
    let before = number(&file)?;
    std::thread::Builder::new().spawn(|| {}).ok()?.join().ok()?;
    // An emulated file, as in some sandboxes, never changes.
    (number(&file)? != before).then_some(file)
});

/// Reads the last field of the file.
fn number(file: &File) -> Option<u64> {
    let mut line = [0; 128];
    let length = file.read_at(&mut line, 0).ok()?;
    let line = std::str::from_utf8(&line[..length]).ok()?;
    line.split_ascii_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Tests that run beside this one begin processes and threads, too, so only some of many tries are renewed.
    #[test]
    fn it_is_renewed_if_nothing_begins() {
        let renewed = || LastStart::now().unwrap().renewed();
        assert!((0..10_000).any(|_| renewed().is_some()));
    }

    #[test]
    fn a_thread_or_a_process_that_begins_is_noticed() {
        let before = LastStart::now().unwrap();
        std::thread::spawn(|| {}).join().unwrap();
        assert!(before.renewed().is_none());
        let before = LastStart::now().unwrap();
        std::process::Command::new("true").status().unwrap();
        assert!(before.renewed().is_none());
    }

    #[test]
    fn one_that_is_too_old_is_not_renewed() {
        let before = LastStart::now().unwrap();
        let long_ago = LastStart {
            at: before.at - NOT_AGAIN,
            ..before
        };
        assert!(long_ago.renewed().is_none());
    }
}

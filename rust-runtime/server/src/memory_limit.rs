//! Limits the memory of a program, if nothing around the runtime does.
//!
//! The kernel counts (`RLIMIT_DATA`) the writable memory that a process has for itself alone: heap, stacks and other
//! anonymous memory, touched or not. It counts neither mapped files nor shared memory, and children are counted
//! separately. An allocation beyond the limit fails, which ends Rust programs with a message that says so.

use std::io;

use crate::proc_file;

/// The standard library's message, before and after a number of bytes.
const SAID: (&str, &str) = ("memory allocation of ", " bytes failed");

/// Why a program cannot be limited to its pack's memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryLimitError {
    /// It already has more.
    #[error("the program has kept {kept} MiB, and its pack may have {allowed} MiB now")]
    Exceeded {
        /// What it has, in MiB.
        kept: u64,
        /// What it may have, in MiB.
        allowed: u64,
    },
    /// The kernel refuses to limit it.
    #[error("the program cannot be held to its memory: {0}")]
    Kernel(#[source] io::Error),
}

/// Limits a process to this much memory from now on.
pub(crate) fn apply(process: i32, mebibytes: u64) -> Result<(), MemoryLimitError> {
    let bytes = mebibytes.saturating_mul(1 << 20);
    let failed = || MemoryLimitError::Kernel(io::Error::last_os_error());
    // SAFETY: `rlimit` is plain data.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to a valid `rlimit`.
    if unsafe { libc::prlimit(process, libc::RLIMIT_DATA, std::ptr::null(), &mut limit) } != 0 {
        return Err(failed());
    }
    if let Some(has) = excess(process, bytes) {
        return Err(MemoryLimitError::Exceeded {
            kept: has >> 20,
            allowed: mebibytes,
        });
    }
    // The hard limit stays: once lowered, only root could raise it, and the next flare's pack may be larger.
    let wanted = bytes.min(limit.rlim_max);
    if limit.rlim_cur == wanted {
        return Ok(());
    }
    limit.rlim_cur = wanted;
    // SAFETY: the call reads a valid `rlimit`.
    match unsafe { libc::prlimit(process, libc::RLIMIT_DATA, &limit, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(failed()),
    }
}

/// Returns how much of the memory that counts a process has, if that is more than `bytes`. The amount including its
/// main stack, which does not count, is read first, at a fifth of the cost.
fn excess(process: i32, bytes: u64) -> Option<u64> {
    let with_stack = || {
        let pages = proc_file::read_text(format!("/proc/{process}/statm")).ok()?;
        let pages: u64 = pages.split_ascii_whitespace().nth(5)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    };
    match with_stack() {
        Some(has) if has <= bytes => None,
        _ => data(process).filter(|has| *has > bytes),
    }
}

/// Returns how much of it a process has, if that can be known.
fn data(process: i32) -> Option<u64> {
    let status = proc_file::read_text(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns how many bytes could not be allocated, if this line of standard error reports that.
pub(crate) fn refused(line: &str) -> Option<u64> {
    line.strip_prefix(SAID.0)?
        .strip_suffix(SAID.1)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_standard_librarys_message_is_recognised() {
        assert_eq!(
            refused("memory allocation of 1048576 bytes failed"),
            Some(1 << 20)
        );
        assert_eq!(refused("memory allocation of much failed"), None);
        assert_eq!(refused("a memory allocation of 7 bytes failed"), None);
    }

    #[test]
    fn a_process_that_has_more_already_is_not_limited() {
        let own = std::process::id() as i32;
        let before = data(own).unwrap();
        assert!(before > 0);
        let error = apply(own, 0).unwrap_err().to_string();
        assert!(error.contains("0 MiB now"), "{error}");
    }
}

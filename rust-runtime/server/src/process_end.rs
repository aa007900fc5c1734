//! How a program's process ended.

use burst_protocol::FailureKind;

/// How a process ended, as it follows "it" or "worker 3".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessEnd {
    /// Its status is unknown.
    #[error("ended in an unknown way")]
    Unknown,
    /// It exited with this code.
    #[error("ended the process with exit code {0}")]
    Exited(i32),
    /// It announced its end, took too long, and was killed.
    #[error("was ending the process, which took too long and was killed")]
    Lingered,
    /// It aborted.
    #[error("aborted (SIGABRT)")]
    Aborted,
    /// It aborted because the stack of a thread overflowed.
    #[error("aborted: its stack overflowed (SIGABRT)")]
    StackOverflow,
    /// It aborted because it could not allocate memory.
    #[error("aborted as it could not have {bytes} more bytes of memory{}", of_pack(*allowed))]
    NoMemory {
        /// The size of the allocation.
        bytes: u64,
        /// The MiB that it may have, if the runtime enforces a limit.
        allowed: Option<u64>,
    },
    /// The kernel killed it for using too much memory.
    #[error("was killed for using more memory than its pack has{}", in_mib(*limit))]
    OutOfMemory {
        /// The MiB that its control group may have, if that is limited.
        limit: Option<u64>,
    },
    /// This signal killed it.
    #[error("was killed by signal {0}{name}", name = signal_name(*.0))]
    Signal(i32),
}

impl ProcessEnd {
    /// Returns what kind of failure that is.
    pub(crate) fn kind(self) -> FailureKind {
        match self {
            Self::Unknown => FailureKind::Internal,
            Self::Exited(_) | Self::Lingered => FailureKind::Exit,
            Self::Aborted | Self::StackOverflow => FailureKind::Abort,
            Self::NoMemory { .. } | Self::OutOfMemory { .. } => FailureKind::OutOfMemory,
            Self::Signal(_) => FailureKind::Signal,
        }
    }
}

fn of_pack(allowed: Option<u64>) -> String {
    allowed.map_or_else(String::new, |allowed| {
        format!(": its pack may have {allowed} MiB")
    })
}

fn in_mib(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(" ({limit} MiB)"))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV: it touched memory that is not its own)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGILL => " (SIGILL: an instruction this processor does not know, or a trap)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGSYS => " (SIGSYS: a system call that is not allowed)",
        libc::SIGXCPU => " (SIGXCPU)",
        libc::SIGTRAP => " (SIGTRAP)",
        _ => "",
    }
}

//! How a program's process ended.

use burst_protocol::FailureKind;

/// How, as it is said after "it" or "worker 3".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessEnd {
    /// Nobody was told.
    #[error("ended in an unknown way")]
    Unknown,
    /// With this code.
    #[error("ended the process with exit code {0}")]
    Exited(i32),
    /// It said that it ends, did not, and was killed.
    #[error("was ending the process, which took too long and was killed")]
    Lingered,
    /// By itself.
    #[error("aborted (SIGABRT)")]
    Aborted,
    /// By itself, since a thread has called itself too often.
    #[error("aborted: its stack overflowed (SIGABRT)")]
    StackOverflow,
    /// By itself, since it was refused memory.
    #[error("aborted as it could not have {bytes} more bytes of memory{}", of_pack(*allowed))]
    NoMemory {
        /// So much.
        bytes: u64,
        /// The MiB that it may have, where the runtime sees to that.
        allowed: Option<u64>,
    },
    /// The kernel killed it for its memory.
    #[error("was killed for using more memory than its pack has{}", in_mib(*limit))]
    OutOfMemory {
        /// The MiB that its control group may have, where that is limited.
        limit: Option<u64>,
    },
    /// This signal killed it.
    #[error("was killed by signal {0}{name}", name = signal_name(*.0))]
    Signal(i32),
}

impl ProcessEnd {
    /// What kind of failure that is.
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

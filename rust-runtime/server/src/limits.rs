//! Upper bounds of everything that comes from outside.

use std::time::Duration;

use burst_protocol::{CONCURRENCY, frame};

const MIB: usize = 1024 * 1024;

/// Unauthenticated connections at once: those of strangers, and those of an invoker whose calls to a program all come
/// at once.
pub(crate) const CONNECTIONS: usize = 64 + CONCURRENCY;
/// Authenticated connections at once. An invoker has two for each flare that runs: one for the flare itself, one to
/// renew its lease.
pub(crate) const TRUSTED_CONNECTIONS: usize = 64 + 2 * CONCURRENCY;
/// A request's line and headers, and the read-ahead on a connection.
pub(crate) const HEADER: usize = 32 * 1024;
/// How long a connection may take to authenticate with the token.
pub(crate) const AUTHENTICATION: Duration = Duration::from_secs(10);
/// How long a body may stall.
pub(crate) const STALL: Duration = Duration::from_secs(30);
/// The pause in accepting connections after one could not be accepted.
pub(crate) const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// The body of `/init`: a package of 192 MiB in base64.
pub(crate) const INIT_BODY: usize = 257 * MIB;
/// A package that is sent to `/init` as a binary body.
pub(crate) const PACKAGE: u64 = 1024 * MIB as u64;
/// The body of `/packs`: the most that fits into the frame to the program.
pub(crate) const PACKS_BODY: usize = frame::COMMAND_LIMIT - MIB;
/// The body of `/run`.
pub(crate) const RUN_BODY: usize = 16 * MIB;
/// The body of `/environment`: the most that the platform stores of a definition's variables, with each byte of it
/// escaped.
pub(crate) const ENVIRONMENT_BODY: usize = MIB;
/// The bodies of `start` and `abort`.
pub(crate) const ORDER_BODY: usize = 4 * MIB;
/// All files of a package together, unpacked.
pub(crate) const UNPACKED: u64 = 1024 * MIB as u64;
/// How many of its user's processes and threads a program leaves to the platform, which runs as the same user if packs
/// are processes; an eighth of them if that is less.
pub(crate) const RESERVED_PROCESSES: u64 = 256;
/// The most that a program can report to have sent in a flare: more than any does, and little enough to be added up.
pub(crate) const MESSAGES_SENT: u64 = 1 << 40;
pub(crate) const BYTES_SENT: u64 = 1 << 50;
/// The limit on a core dump, in bytes: fewer than any has. With a limit of zero the kernel would still run the
/// machine's core handler, if there is one.
pub(crate) const NO_CORE: u64 = 1;
/// The first bytes of executables on Linux.
pub(crate) const ELF: [u8; 4] = *b"\x7fELF";
/// Files and directories of a package.
pub(crate) const ENTRIES: usize = 10_000;
/// How much all workers of a pack and the pack itself may log together, at once (less in a pack of one worker) and then
/// per second. How much each of them may log in total is a limit of the protocol's.
pub(crate) const LOG_AT_ONCE: usize = 8 * MIB;
pub(crate) const LOG_AT_ONCE_OF_ONE: usize = 4 * MIB;
pub(crate) const LOG_RATE: usize = MIB;
/// How much the lines of one log event count at most.
pub(crate) const LOG_CHUNK: usize = 16 * 1024;
/// The longest message about how a program broke the protocol.
pub(crate) const VIOLATION: usize = 200;
/// The signals that a program may announce as its death: those that its own handlers see.
pub(crate) const DYING_SIGNALS: [i32; 5] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
];
/// How far the time of an event may be from the time at which it is read.
pub(crate) const SKEW: Duration = Duration::from_secs(3600);
/// How much is reported of the output of a program that did not start.
pub(crate) const STARTUP_LOG: usize = 64 * 1024;
/// How much of the output is kept for the message about a failed start.
pub(crate) const TAIL: usize = 4 * 1024;
/// Bytes of events that may wait for a slow client before the program has to wait as well.
pub(crate) const PENDING: usize = MIB;

/// Bytes of an output that are sent in one event.
pub(crate) const OUTPUT_PIECE: usize = 32 * 1024;

/// How long a program may take to report, by default.
pub(crate) const START: Duration = Duration::from_secs(12);

/// How long log and phase events wait to be sent together with others, and how many bytes are sent without waiting.
pub(crate) const GATHERING: Duration = Duration::from_millis(20);
pub(crate) const GATHERED: usize = 64 * 1024;
/// How long the beginning of a flare of one pack waits to be sent together with its end, and the response for both:
/// waking their readers three times costs more than a short function.
pub(crate) const TOGETHER: Duration = Duration::from_millis(1);
pub(crate) const ANSWER: Duration = Duration::from_millis(2);
/// The time from a flare's arrival until its program must have joined it, for which it may have to reach a backend's
/// server.
pub(crate) const READY: Duration = Duration::from_secs(20);
/// The time from a failure or abort until workers that have not returned are killed.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// The time from a flare's end until everything it has left must be gone: ending killed processes and removing files
/// takes processor time, which is scarce on a busy machine.
pub(crate) const CLEARING: Duration = Duration::from_secs(30);
/// The part of that time in which a program can wait for its ended processes, if there are many.
pub(crate) const REAPING: Duration = Duration::from_secs(1);
/// The time from a flare's deadline, or its end if that is later, until its clean-up is no longer waited for: less than
/// an invoker waits for the end (`deadline-slack`).
pub(crate) const OVERTIME: Duration = Duration::from_secs(1);
/// How long a flare that arrives during a clean-up waits for it: less than an invoker waits for the answer
/// (`init-timeout`). The invoker then looks for another place.
pub(crate) const ADMISSION: Duration = Duration::from_secs(10);
/// The time from a flare's end until its program is first observed, if no other flare has begun. After as long again it
/// is stopped, or found to compute; one that still computes is observed again each time after twice as long.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// How much of the processor time between two observations counts at most, and how much a program that should rest may
/// use in total: as much as one that computes for half of the first two intervals.
pub(crate) const COMPUTING_IN_ONE: Duration = PAUSE;
pub(crate) const COMPUTING: Duration = Duration::from_millis(75);
/// How long a program that was sent the stop signal is left unobserved if the kernel reports no change of it.
pub(crate) const RESTING: Duration = Duration::from_secs(1);
/// How long a program may take to stop: threads stop when they get a processor, which others have on a busy machine. A
/// program that only waits for a processor has as long to come to rest.
pub(crate) const STOPPING: Duration = Duration::from_secs(30);
/// The time from the announcement of a process's end, or the end of its socket, until it is killed: its peers wait
/// meanwhile, but a busy machine may keep a process even from dying.
pub(crate) const DYING: Duration = Duration::from_secs(2);
/// The time from the process's end until the rest of its output is no longer waited for.
pub(crate) const SETTLE: Duration = Duration::from_millis(100);
/// The time limit of a single function if the caller gives none.
pub(crate) const RUN: Duration = Duration::from_secs(60);

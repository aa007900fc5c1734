//! Upper bounds of everything that comes from outside.

use std::time::Duration;

use burst_protocol::{CONCURRENCY, frame};

const MIB: usize = 1024 * 1024;

/// Connections at once of those that have not shown the token: strangers', and those of an invoker whose calls come to a
/// program all at once.
pub(crate) const CONNECTIONS: usize = 64 + CONCURRENCY;
/// Connections at once of those that have. An invoker has one for each flare that runs, and one with which it renews its
/// lease.
pub(crate) const TRUSTED_CONNECTIONS: usize = 64 + 2 * CONCURRENCY;
/// A request's line and headers; what is read of a connection before anybody asks for it.
pub(crate) const HEADER: usize = 32 * 1024;
/// How long a connection may take to show the token.
pub(crate) const AUTHENTICATION: Duration = Duration::from_secs(10);
/// How long nothing may come of a body.
pub(crate) const STALL: Duration = Duration::from_secs(30);
/// How long no connection is taken in after one could not be.
pub(crate) const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// The body of `/init`: a package of 192 MiB in base64.
pub(crate) const INIT_BODY: usize = 257 * MIB;
/// A package that is sent to `/init` as it is.
pub(crate) const PACKAGE: u64 = 1024 * MIB as u64;
/// The body of `/packs`: what fits into the frame to the program.
pub(crate) const PACKS_BODY: usize = frame::COMMAND_LIMIT - MIB;
/// The body of `/run`.
pub(crate) const RUN_BODY: usize = 16 * MIB;
/// The body of `/environment`: what the platform keeps of a definition's variables, each byte of it escaped.
pub(crate) const ENVIRONMENT_BODY: usize = MIB;
/// The bodies of `start` and `abort`.
pub(crate) const ORDER_BODY: usize = 4 * MIB;
/// All files of a package together, unpacked.
pub(crate) const UNPACKED: u64 = 1024 * MIB as u64;
/// Of the processes and threads that its user may have, those that a program leaves to the platform, which is of the
/// same user where packs are processes; an eighth where that is less.
pub(crate) const RESERVED_PROCESSES: u64 = 256;
/// What a program may say that it has sent in a flare: more than any does, and little enough to be counted.
pub(crate) const MESSAGES_SENT: u64 = 1 << 40;
pub(crate) const BYTES_SENT: u64 = 1 << 50;
/// Bytes of a crash's core: fewer than any has. With none at all the kernel would still run the machine's handler of
/// cores, where there is one.
pub(crate) const NO_CORE: u64 = 1;
/// How executables of Linux begin.
pub(crate) const ELF: [u8; 4] = *b"\x7fELF";
/// Files and directories of a package.
pub(crate) const ENTRIES: usize = 10_000;
/// What all workers of a pack and the pack itself may log together, at once (in a pack of one worker less) and then in a
/// second. What each of them may in all is a limit of the protocol's.
pub(crate) const LOG_AT_ONCE: usize = 8 * MIB;
pub(crate) const LOG_AT_ONCE_OF_ONE: usize = 4 * MIB;
pub(crate) const LOG_RATE: usize = MIB;
/// What lines that travel together count at most.
pub(crate) const LOG_CHUNK: usize = 16 * 1024;
/// What is told of how a program broke the protocol.
pub(crate) const VIOLATION: usize = 200;
/// The signals by which a program may say that it dies: those that its own handlers see.
pub(crate) const DYING_SIGNALS: [i32; 5] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
];
/// How far the time of an event may be from that at which it is heard.
pub(crate) const SKEW: Duration = Duration::from_secs(3600);
/// What is told of the output of a program that did not come up.
pub(crate) const STARTUP_LOG: usize = 64 * 1024;
/// What is kept of standard error for the message about a failed start.
pub(crate) const TAIL: usize = 4 * 1024;
/// Bytes of events that may wait for a slow client before the program has to wait as well.
pub(crate) const PENDING: usize = MIB;

/// Bytes of an output that are told in one event.
pub(crate) const OUTPUT_PIECE: usize = 32 * 1024;

/// How long a program may take to report, where nobody says it.
pub(crate) const START: Duration = Duration::from_secs(12);

/// How long log and phase events wait for others to leave with, and how many bytes wait for none.
pub(crate) const GATHERING: Duration = Duration::from_millis(20);
pub(crate) const GATHERED: usize = 64 * 1024;
/// How long the beginning of a flare of one pack waits for its end to be told with it, and its answer for both: what
/// wakes whoever reads them three times costs more than a short function.
pub(crate) const TOGETHER: Duration = Duration::from_millis(1);
pub(crate) const ANSWER: Duration = Duration::from_millis(2);
/// From a flare's arrival until its program has joined it, for which it may have to reach a backend's server.
pub(crate) const READY: Duration = Duration::from_secs(20);
/// From a failure or abort until workers that did not return are killed.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// From a flare's end until all that it has left is gone: the end of killed processes and the removal of files need a
/// processor, and on a busy machine wait for one.
pub(crate) const CLEARING: Duration = Duration::from_secs(30);
/// Of that, how long those that have ended are left for their program to wait for, where they are many.
pub(crate) const REAPING: Duration = Duration::from_secs(1);
/// From when a flare's time was up, if not it has ended later, until what it has left is waited for no longer: less than
/// an invoker waits for the end (`deadline-slack`).
pub(crate) const OVERTIME: Duration = Duration::from_secs(1);
/// How long a flare that arrives meanwhile waits for it: less than an invoker waits for the answer (`init-timeout`), which
/// then looks for another place.
pub(crate) const ADMISSION: Duration = Duration::from_secs(10);
/// From a flare's end until its program is observed, if no other has begun; as long again until it is stopped, or seen
/// to compute; twice as long each time until one that still does is observed again.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// How much of the processor time between two observations counts at most, and how much a program that ought to rest may
/// have in all: as much as one that computes for half of the first two.
pub(crate) const COMPUTING_IN_ONE: Duration = PAUSE;
pub(crate) const COMPUTING: Duration = Duration::from_millis(75);
/// How long a program that was told to stop is not observed if the kernel reports nothing of it.
pub(crate) const RESTING: Duration = Duration::from_secs(1);
/// How long it may take to stop: threads do so when they get a processor, which on a busy machine others have. As long
/// does one that only waits for one have to come to rest.
pub(crate) const STOPPING: Duration = Duration::from_secs(30);
/// From the announcement of a process's end, or of its socket's, until it is helped along: its
/// peers wait meanwhile, but a busy machine may keep a process even from dying.
pub(crate) const DYING: Duration = Duration::from_secs(2);
/// From the process's end until the rest of its output is no longer waited for.
pub(crate) const SETTLE: Duration = Duration::from_millis(100);
/// A single function's time when the caller gives none.
pub(crate) const RUN: Duration = Duration::from_secs(60);

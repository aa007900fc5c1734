//! Isolates a pack by the kernel's own means, for root and for ordinary users, without a daemon.
//!
//! `burst-runtime sandbox` is the shim of one pack ([`launch`]): it makes the sandbox, runs
//! `burst-runtime serve` as process 1 inside it, and ends it. An invoker starts one shim, of its own release, for
//! each pack and talks to it as follows.
//!
//! # Calls
//!
//! | call | prints | ends |
//! | --- | --- | --- |
//! | `sandbox --check` | `{"possible":true,"limits":"control groups of version 1"}` or `{"possible":false,"reason":"…"}`, after really making a sandbox; the reason says what to change | immediately, with 0 |
//! | `sandbox --remove PREFIX` | how many control groups left by killed shims it removed: those whose names begin with the prefix, in the place where a shim would make them now | usually immediately; after 25 s with 1 if a process is still in one |
//! | `sandbox` | as below | with its pack |
//!
//! # Input
//!
//! Standard input is lines of JSON; unknown fields are refused. The first line must arrive within 60 s and describes
//! the sandbox to make:
//!
//! ```json
//! {"package":"/host/dir","sockets":"/host/dir","root":null,"user":100007,"group":"burst-5f3a-1","tmpMiB":64,
//!  "shmMiB":64,"limits":{"memoryMiB":512,"cpus":2.0,"processes":320,"files":4096},"graceMs":1000}
//! ```
//!
//! | field | meaning |
//! | --- | --- |
//! | `package` | a directory, mounted read-only at `/package`; files added later are visible, too |
//! | `sockets` | a directory, or null, mounted at `/run/burst/sockets`: this pack's Unix socket gets a random name in it, and the pack finds those of others there. Its mode should let nobody list it |
//! | `root` | a directory whose entries are mounted read-only instead of this machine's C library, or null. Its `dev`, `package`, `proc`, `run`, `sys` and `tmp` are left out |
//! | `interpreters` | whether the pack sees this machine's `python3` and `node` with their libraries, and a shell with the tools that scripts take for granted, if no `root` is given; false if left out |
//! | `mounts` | at most 64 of `{"source":"/data","target":"/data","readOnly":true}`: the operator's directories, with whatever is mounted in them at the start; or left out. Both are absolute paths without `..`. Links that lead to a source are followed once, at the start; a target is created, and must not lie in anything the sandbox already has except `/tmp`, which the runtime then does not empty. No source may lie in another one that is writable, where a pack could replace it by a link; none may be the kernel's (`/proc`, `/sys`) or contain those. What is read-only on the machine stays read-only, and what is writable is `noexec`: a pack executes nothing that it, or another pack, has written |
//! | `user` | the user id the pack runs as on the machine: required if the shim is root, refused for others, who run packs as themselves. This user must be able to read package and root |
//! | `group` | the name of a control group, which must not exist yet, or null: without one, memory and processors are not limited |
//! | `tmpMiB`, `shmMiB` | the sizes of `/tmp` and `/dev/shm`, with 256 files for each MiB |
//! | `limits` | for all processes together, including the runtime; `processes` counts threads; `files` is per process. A shim that is not root cannot give more than it may have itself, and of descriptors only three quarters of that |
//! | `graceMs` | from the end of standard input until whatever still runs is killed; 1000 if left out |
//!
//! Each further line is one of these, and gets one line in answer:
//!
//! | line | effect |
//! | --- | --- |
//! | `{"limits":{…}}` | these limits apply; `files` cannot change, nor can `processes` without a control group |
//! | `{"open":["HOST:PORT",…]}` | programs reach these servers at their own addresses and names, and no others; at most 64, with at most 256 addresses |
//! | `{"internet":{"closed":["ADDRESS/BITS",…]}}` | programs reach the internet as well: TCP and UDP, to all addresses except those in the ranges and this machine's own; names are resolved by its resolvers. Until the next `open` |
//! | `{"listen":{"host":"HOST","packs":12}}` | the given number of packs on other machines, at most 4096, can reach this one's Unix socket at a port of this host, which is this machine or leads to it |
//! | `{"peers":["HOST:PORT",…]}` | programs reach these packs on other machines by their index in the list, beginning with 0, and no others; at most 4096 |
//! | `{"close":true}` | programs reach nothing and are reached by nobody, and no connection is left |
//!
//! When standard input ends, or at SIGTERM, SIGINT or SIGHUP, the shim asks process 1 to end, and kills it after its
//! grace period. The shim ends when nothing in the sandbox runs any more.
//!
//! The environment, including the runtime's token, is passed on unchanged. Of all descriptors only standard output and
//! error are inherited.
//!
//! # Output
//!
//! | line of standard output | when |
//! | --- | --- |
//! | `listening on 127.0.0.1:PORT` | the runtime listens there, on the machine's loopback, and all limits are in force |
//! | `processes PID PID` | the isolation is complete: when these processes, the shim's descendants by their numbers on the machine, end, so do all others in the sandbox; before `listening` |
//! | `limits made` | the new limits are in force |
//! | `limits refused: REASON` | the limits cannot be applied; the previous ones stay in force |
//! | `limits failed: REASON` | the kernel has refused a change, and it is unknown which limits are in force |
//! | `opened` | all of the servers, or the internet, can be reached; whether a server answers shows when a program connects: if not, its connection is reset |
//! | `open failed: REASON` | none of the servers, or not the internet, can be reached; names are resolved in parallel, each within 10 s |
//! | `listening for packs HOST:PORT` | packs on other machines can connect to that port |
//! | `listen failed: REASON` | there is no such port |
//! | `peers at PATH` | the pack reaches them by the Unix socket at that path, as described [below](#packs-of-other-machines) |
//! | `peers failed: REASON` | none of them can be reached |
//! | `closed` | nothing can be reached any more; also if nothing could before |
//! | `close failed: REASON` | no connection is left, but an address, a name or a route is |
//! | `out of memory` | the last line, if the kernel has killed a process in the pack's control group for lack of memory |
//!
//! The shim's exit code is that of process 1, or 128 plus the number of the signal that ended it. It is 1 if nothing
//! was made, and standard error then has one sentence with the reason; 125 if the runtime could not be executed.
//!
//! When a shim is killed, everything in its sandbox dies with it. What remains is an empty control group, for
//! `--remove`, and the socket's name in its directory, which the directory's owner has to remove.
//!
//! # Packs of other machines
//!
//! A program connects to the socket of `peers at` and writes the index of a pack as four bytes, little-endian. It reads
//! four bytes: 0 once it is connected to that pack, or the number of the error. Everything after that passes between
//! the two.
//!
//! Connections to the port of `listening for packs` are forwarded to the pack's own socket. A pack speaks first, and
//! answers only packs of its flare. At most 256 unanswered connections are kept, plus one for each of the expected
//! packs, for 10 s each; if there is no room, connections from the source with the most of them are closed first.
//!
//! # Isolation
//!
//! | idea | file |
//! | --- | --- |
//! | with whose rights a pack is isolated: root's, or those of a user namespace of the shim | `credentials` |
//! | namespaces and the pack's root, with `hakoniwa` | `root`, `libraries`, `interpreters`, `directories` |
//! | how many descriptors shim and pack may have | `descriptors` |
//! | what process 1 does before it becomes the runtime: restricts its mounts, changes its user, drops its rights | `process_one`, `mounts`, `loopback` |
//! | system calls | `filter`, `syscalls` |
//! | control groups | `cgroup`, `cgroup_files`, `hierarchy` |
//! | making, changing and ending a sandbox | `sandbox`, `processes`, `handover`, `local_name` |
//! | servers that a pack can reach: where they are, their addresses and names in the pack, connections to them | `target`, `addresses`, `network`, `servers`, `relay`, `copy` |
//! | the internet: which addresses are allowed, how connections and datagrams to any address are accepted and relayed | `internet` and its submodules, `kernel_network` |
//! | packs on other machines: incoming and outgoing connections, and the data between two packs | `peers`, `inbound`, `pending_peers`, `outbound`, `tunnel`, `copy`, `task` |
//! | the shim's life | `shim`, `spec`, `lines`, `signals` |

mod addresses;
mod cgroup;
mod cgroup_files;
mod check;
mod copy;
mod credentials;
mod descriptors;
mod directories;
mod end;
mod filter;
mod handover;
mod hierarchy;
mod inbound;
mod internet;
mod interpreters;
mod kernel_network;
mod libraries;
mod lines;
mod local_name;
mod loopback;
mod mounts;
mod network;
mod outbound;
mod peers;
mod pending_peers;
mod process_one;
mod processes;
mod relay;
mod root;
mod ruleset;
mod sandbox;
mod servers;
mod shim;
mod signals;
mod spec;
mod syscalls;
mod target;
mod task;
mod tunnel;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use check::{CheckReport, check};
pub use directories::MountError;
pub use shim::launch;

use crate::hierarchy::Hierarchies;
use crate::spec::{ControlGroupName, LEAST_CPUS, LEAST_FILES, LEAST_MEMORY, LEAST_PROCESSES};

/// Why a sandbox could not be made or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The description of the sandbox is refused.
    #[error("standard input describes no sandbox: {0}")]
    Spec(#[from] SpecError),
    /// One of the operator's directories cannot be mounted for packs.
    #[error("{mount} cannot be mounted: {reason}")]
    Mount {
        /// Its source and its target.
        mount: String,
        /// The reason.
        reason: MountError,
    },
    /// The new limits are refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// This user can make no control groups here.
    #[error("this user can make no control groups with cpu, memory and pids here")]
    NoControlGroups,
    /// A control group cannot be made, changed or removed.
    #[error("the kernel refuses {path}: {reason}")]
    ControlGroup {
        /// The group, or one of its files.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The kernel gives this user no namespaces.
    #[error("the kernel gives this user no namespaces ({reason})")]
    Namespaces {
        /// The reason.
        reason: io::Error,
    },
    /// The kernel refuses an operation.
    #[error("the kernel refuses {what}: {reason}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The reason.
        reason: io::Error,
    },
    /// The kernel refuses the filter of system calls.
    #[error("the kernel refuses a filter of system calls: {0}")]
    Filter(seccompiler::Error),
    /// Landlock refuses the rules for paths.
    #[error("the kernel refuses rules for paths: {0}")]
    Ruleset(Box<landlock::RulesetError>),
    /// Sockets cannot be created or handed over.
    #[error("sockets cannot be handed to the pack: {0}")]
    Handover(io::Error),
    /// The pack's Unix socket cannot be bound to a name.
    #[error("the pack has no socket in {path}: {reason}")]
    Local {
        /// The directory.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The runtime's own binary cannot be found.
    #[error("the runtime's own binary is not to be found: {0}")]
    Runtime(io::Error),
    /// The sandbox's processes cannot be started or waited for.
    #[error("the sandbox cannot be made: {0}")]
    Processes(#[source] hakoniwa::Error),
    /// Isolation could not be set up: the message that process 1, or the process waiting for it, has sent.
    #[error("the sandbox cannot be made: {0}")]
    Isolation(String),
    /// Isolation was not complete in time.
    #[error("the sandbox cannot be made: process 1 is not isolated within {0:?}")]
    Late(Duration),
    /// Waiting for standard input or signals failed.
    #[error("neither standard input nor signals can be waited for: {0}")]
    Events(io::Error),
    /// Killed processes have not ended.
    #[error("processes of the sandbox do not end, not even by SIGKILL")]
    DoesNotEnd,
}

/// Why a description is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Standard input ended before the description.
    #[error("there is none")]
    Missing,
    /// A line is not valid.
    #[error(transparent)]
    Json(serde_json::Error),
    /// A path is not absolute, or not UTF-8.
    #[error("{} is no absolute path in UTF-8", .0.display())]
    Path(PathBuf),
    /// A directory does not exist.
    #[error("{} is no directory", .0.display())]
    Directory(PathBuf),
    /// A file system would have no space.
    #[error("tmpMiB and shmMiB are 1 or more")]
    Sizes,
    /// The runtime could not start within these limits.
    #[error(
        "memoryMiB is at least {}, cpus {}, processes {}, files {}",
        LEAST_MEMORY,
        LEAST_CPUS,
        LEAST_PROCESSES,
        LEAST_FILES
    )]
    Limits,
    /// There are more mounts than a pack may have.
    #[error("there are more than {} mounts", directories::MOST)]
    Mounts,
    /// The shim is root and names no user for the pack, or root itself.
    #[error("root has to name a user for the pack, who is not root")]
    NoUser,
    /// Only root may choose a user.
    #[error("only root can have a pack run as another user")]
    OtherUser,
    /// The prefix is not the beginning of a valid name of a control group.
    #[error("a prefix is the beginning of a group's name")]
    Prefix,
}

/// Why a sandbox keeps its present limits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The limit of descriptors cannot be changed.
    #[error("descriptors are for life here")]
    Descriptors,
    /// The limit of processes cannot be changed without a control group.
    #[error("processes are for life here")]
    Processes,
    /// The pack uses more memory than the new limit.
    #[error("more than {0} MiB are in use")]
    InUse(u32),
}

impl Error {
    fn kernel(what: &'static str, reason: impl Into<io::Error>) -> Self {
        Self::Kernel {
            what,
            reason: reason.into(),
        }
    }

    fn local(path: &Path, reason: impl Into<io::Error>) -> Self {
        Self::Local {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Removes the control groups with this prefix that killed shims have left, and returns how many there were. Blocks
/// until the processes in them have ended, for seconds at most.
///
/// # Errors
/// When the prefix is not the beginning of a valid group name, or a process is still in a group.
pub fn remove(prefix: &str) -> Result<usize, Error> {
    ControlGroupName::try_from(prefix.to_owned()).map_err(|_| SpecError::Prefix)?;
    match Hierarchies::find() {
        Some(hierarchies) => cgroup::remove_all(&hierarchies, prefix),
        None => Ok(0),
    }
}

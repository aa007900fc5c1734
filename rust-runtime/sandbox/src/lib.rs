//! Shuts a pack in by the kernel's own walls, for root and for ordinary users, without a daemon.
//!
//! `burst-runtime sandbox` is the shim of one pack ([`launch`]): it makes the walls, has `burst-runtime serve` run as
//! process 1 within them, and ends it. An invoker starts one for each pack, of its own release, and talks to it as
//! follows.
//!
//! # Calls
//!
//! | call | prints | ends |
//! | --- | --- | --- |
//! | `sandbox --check` | `{"possible":true,"limits":"control groups of version 1"}` or `{"possible":false,"reason":"…"}`, after a sandbox was really made; the reason says what to change | at once, with 0 |
//! | `sandbox --remove PREFIX` | how many control groups that killed shims have left were removed, of those whose names begin so and that were made where a shim would make them now | mostly at once; after 25 s with 1 if somebody is still in one |
//! | `sandbox` | as below | with its pack |
//!
//! # What a shim is told
//!
//! Standard input is lines of JSON; unknown fields are refused. The first line comes within 60 s and says what to make:
//!
//! ```json
//! {"package":"/host/dir","sockets":"/host/dir","root":null,"user":100007,"group":"burst-5f3a-1","tmpMiB":64,
//!  "shmMiB":64,"limits":{"memoryMiB":512,"cpus":2.0,"processes":320,"files":4096},"graceMs":1000}
//! ```
//!
//! | field | meaning |
//! | --- | --- |
//! | `package` | a directory, seen read-only at `/package`; what is put into it later is seen, too |
//! | `sockets` | a directory, or null: where this pack's Unix socket gets a random name, and others are found, at `/run/burst/sockets`. Its mode should give nobody the right to read it |
//! | `root` | a directory whose entries are seen read-only in place of this machine's C library, or null. Its `dev`, `package`, `proc`, `run`, `sys` and `tmp` are not |
//! | `interpreters` | whether this machine's `python3` and `node` are seen, with their libraries, and a shell with the tools that scripts take for granted, where no `root` is given; false if left out |
//! | `mounts` | at most 64 of `{"source":"/data","target":"/data","readOnly":true}`, directories of the operator's with what is mounted in them at the start; or left out. Both are absolute paths without `..`. Links that lead to a source are followed once, at the start; a target is made anew, and may be in nothing that the sandbox has but `/tmp`, which the runtime then does not empty. No source lies in another one that is writable, where a pack could put a link in its place; none is of the kernel's (`/proc`, `/sys`) or has that in it. What is read-only on the machine stays so, and what is writable is `noexec`: a pack runs nothing that it, or another one, has written |
//! | `user` | whom the pack runs as on the machine: necessary for root, refused for others, who run it as themselves. It has to be able to read package and root |
//! | `group` | the name of a control group, which may not be there yet, or null: without, memory and processors are not held to anything |
//! | `tmpMiB`, `shmMiB` | the sizes of `/tmp` and `/dev/shm`, with 256 files for each MiB |
//! | `limits` | of all processes together, that of the runtime among them; `processes` counts threads; `files` is of each process. Who is not root gives no more than it may have itself, and of descriptors three quarters of that |
//! | `graceMs` | from the end of standard input until what still runs is killed; 1000 if left out |
//!
//! Each further line is one of these, and is answered by a line:
//!
//! | line | what is so from then on |
//! | --- | --- |
//! | `{"limits":{…}}` | it is held to these; `files` is for life, and so is `processes` without a control group |
//! | `{"open":["HOST:PORT",…]}` | programs reach these servers at their own addresses and names, and no others; at most 64, with at most 256 addresses |
//! | `{"internet":{"closed":["ADDRESS/BITS",…]}}` | programs reach the internet as well: TCP and UDP, to all addresses but those in the ranges and those of this machine; names by its resolvers. Until the next `open` |
//! | `{"listen":{"host":"HOST","packs":12}}` | packs of other machines, of which there are so many, at most 4096, reach this one's Unix socket at a port of this host's, which is this machine or leads to it |
//! | `{"peers":["HOST:PORT",…]}` | programs reach these packs of other machines by their index in the list, the first being 0, and no others; at most 4096 |
//! | `{"close":true}` | they reach nothing, and are reached by nobody, and no connection is left |
//!
//! When standard input ends, or at SIGTERM, SIGINT or SIGHUP, process 1 is told to end as well, and killed after its
//! grace. The shim ends when nothing of the sandbox runs any more.
//!
//! The environment, the runtime's token in it, is handed on as it is. Of all descriptors only standard output and error
//! are.
//!
//! # What a shim says
//!
//! | line of standard output | when |
//! | --- | --- |
//! | `listening on 127.0.0.1:PORT` | the runtime does, of the machine's loopback, and all limits hold |
//! | `processes PID PID` | the walls stand: with these processes of the machine, below the shim, all others of the sandbox end; before `listening` |
//! | `limits made` | they hold from now on |
//! | `limits refused: REASON` | they cannot be; those before go on |
//! | `limits failed: REASON` | the kernel has refused, and which of them hold is not known |
//! | `opened` | all of them, or the internet, can be reached; whether anybody answers is known when a program connects, whose connection is reset if not |
//! | `open failed: REASON` | none can be, or not the internet; within 10 s for each name, all looked for at once |
//! | `listening for packs HOST:PORT` | at that port |
//! | `listen failed: REASON` | there is none |
//! | `peers at PATH` | they are reached by the Unix socket of that path in the pack, as [below](#packs-of-other-machines) |
//! | `peers failed: REASON` | none is |
//! | `closed` | nothing can be reached any more; also if nothing could before |
//! | `close failed: REASON` | no connection is left, but an address, a name or a route |
//! | `out of memory` | the last line, if the kernel has killed anybody in the pack's control group for that |
//!
//! Its exit code is that of process 1, or 128 and the number of the signal that ended it. It is 1 where nothing was made,
//! and standard error has one sentence that says why; 125 where the runtime could not be executed.
//!
//! A shim that is killed takes all with it. What then stays is an empty control group, for `--remove`, and the name of
//! the socket in its directory, for whoever owns that.
//!
//! # Packs of other machines
//!
//! On the socket of `peers at` a program says the number of one in four bytes, the lowest first, and reads four: 0 once
//! it is connected to that one, or the number of the error that came of it. What is said then is between the two.
//!
//! Who comes to the port of `listening for packs` is led to the pack's own socket. A pack speaks first, and answers
//! nobody but those of its flare: of others there are 256 at most beside one for each of its packs, for 10 s, and where
//! there is no room those go first from where most have come.
//!
//! # The walls
//!
//! | idea | file |
//! | --- | --- |
//! | who makes the walls: root, or a user namespace of the shim's | `credentials` |
//! | namespaces and the pack's root, by `hakoniwa` | `root`, `libraries`, `interpreters`, `directories` |
//! | how many descriptors who may have | `descriptors` |
//! | what process 1 does before it becomes the runtime: mounts closed, its own user, no rights | `process_one`, `mounts`, `loopback` |
//! | system calls | `filter`, `syscalls` |
//! | control groups | `cgroup`, `cgroup_files`, `hierarchy` |
//! | making, changing, ending one | `sandbox`, `processes`, `handover`, `local_name` |
//! | servers that a pack reaches: where they are, their addresses and names in the pack, connections to them | `target`, `addresses`, `network`, `servers`, `relay`, `copy` |
//! | the internet: what of it is allowed, how connections and datagrams for anybody are taken in and passed on | `internet` and what is below it, `kernel_network` |
//! | packs of other machines: they come, they are gone to, what is between two | `peers`, `inbound`, `pending_peers`, `outbound`, `tunnel`, `copy`, `task` |
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

pub use check::{Possibility, check};
pub use directories::MountError;
pub use shim::launch;

use crate::hierarchy::Hierarchies;
use crate::spec::{ControlGroupName, LEAST_CPUS, LEAST_FILES, LEAST_MEMORY, LEAST_PROCESSES};

/// Why there is no sandbox, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is to be made cannot be.
    #[error("standard input describes no sandbox: {0}")]
    Spec(#[from] SpecError),
    /// A directory of the operator's cannot be given to packs.
    #[error("{mount} cannot be mounted: {reason}")]
    Mount {
        /// Where it is, and where it was to be.
        mount: String,
        /// Why.
        reason: MountError,
    },
    /// Nobody may be held to that.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// No control group can be made here.
    #[error("this user can make no control groups with cpu, memory and pids here")]
    NoControlGroups,
    /// A control group cannot be made, changed or removed.
    #[error("the kernel refuses {path}: {reason}")]
    ControlGroup {
        /// The group, or a file of it.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// This user may not have namespaces.
    #[error("the kernel gives this user no namespaces ({reason})")]
    Namespaces {
        /// Why.
        reason: io::Error,
    },
    /// The kernel does not do what is needed.
    #[error("the kernel refuses {what}: {reason}")]
    Kernel {
        /// What was asked of it.
        what: &'static str,
        /// Why.
        reason: io::Error,
    },
    /// The filter of system calls is not taken.
    #[error("the kernel refuses a filter of system calls: {0}")]
    Filter(seccompiler::Error),
    /// Landlock does not take what paths may be used for.
    #[error("the kernel refuses rules for paths: {0}")]
    Ruleset(Box<landlock::RulesetError>),
    /// Sockets cannot be made or handed over.
    #[error("sockets cannot be handed to the pack: {0}")]
    Handover(io::Error),
    /// The pack's Unix socket cannot have a name.
    #[error("the pack has no socket in {path}: {reason}")]
    Local {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The runtime's own binary is not to be found.
    #[error("the runtime's own binary is not to be found: {0}")]
    Runtime(io::Error),
    /// Its processes cannot be begun, or waited for.
    #[error("the sandbox cannot be made: {0}")]
    Processes(#[source] hakoniwa::Error),
    /// A wall was not made: in the words in which process 1, or who waits for it, has sent that.
    #[error("the sandbox cannot be made: {0}")]
    Walls(String),
    /// The walls were not made in time.
    #[error("the sandbox cannot be made: process 1 is not isolated within {0:?}")]
    Late(Duration),
    /// It cannot be waited for.
    #[error("neither standard input nor signals can be waited for: {0}")]
    Events(io::Error),
    /// What was killed is still there.
    #[error("processes of the sandbox do not end, not even by SIGKILL")]
    DoesNotEnd,
}

/// Why what is to be made cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Standard input ended before it.
    #[error("there is none")]
    Missing,
    /// A line is none of those that are known.
    #[error(transparent)]
    Json(serde_json::Error),
    /// A directory is named in another way.
    #[error("{} is no absolute path in UTF-8", .0.display())]
    Path(PathBuf),
    /// A directory is not there.
    #[error("{} is no directory", .0.display())]
    Directory(PathBuf),
    /// Nothing would fit into a file system.
    #[error("tmpMiB and shmMiB are 1 or more")]
    Sizes,
    /// The runtime would not come up.
    #[error(
        "memoryMiB is at least {}, cpus {}, processes {}, files {}",
        LEAST_MEMORY,
        LEAST_CPUS,
        LEAST_PROCESSES,
        LEAST_FILES
    )]
    Limits,
    /// More directories of the operator's than a pack may have.
    #[error("there are more than {} mounts", directories::MOST)]
    Mounts,
    /// The pack would be root.
    #[error("root has to name a user for the pack, who is not root")]
    NoUser,
    /// Nobody else may choose a user.
    #[error("only root can have a pack run as another user")]
    OtherUser,
    /// Control groups that are to be removed are called otherwise.
    #[error("a prefix is the beginning of a group's name")]
    Prefix,
}

/// Why a sandbox keeps the limits that it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Those of descriptors cannot be changed.
    #[error("descriptors are for life here")]
    Descriptors,
    /// Those of processes cannot be changed without a control group.
    #[error("processes are for life here")]
    Processes,
    /// Less memory than the pack has.
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

/// Removes the control groups whose names begin so, which shims that were killed have left. Blocks until those in
/// them are gone, for seconds at most. How many there were.
///
/// # Errors
/// When the prefix is no beginning of a group's name, or somebody is still in a group.
pub fn remove(prefix: &str) -> Result<usize, Error> {
    ControlGroupName::try_from(prefix.to_owned()).map_err(|_| SpecError::Prefix)?;
    match Hierarchies::find() {
        Some(hierarchies) => cgroup::remove_all(&hierarchies, prefix),
        None => Ok(0),
    }
}

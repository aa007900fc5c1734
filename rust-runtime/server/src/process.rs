//! The user's program as a process: how it is started, killed and reaped.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use burst_protocol::{CONTROL_FD, LANE_FDS, LISTENER_FD};
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group,
    set_dumpable_behavior, waitid,
};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::environment::{Environment, HANDED_ON};
use crate::memory_limit::MemoryLimitError;
use crate::{limits, memory_limit, orphans};

const CONTROL: i32 = 3;

/// The program's descriptor for its pack's socket, if it has one.
const LISTENER: i32 = 4;

/// The program's first descriptor for the other control sockets, if it has several. They are consecutive: interpreters
/// look for descriptors that their own children must not have only up to the first free number.
const LANES: i32 = 5;

/// A program that is being started. Dropping this closes its control sockets, which ends it.
pub(crate) struct Starting(oneshot::Receiver<io::Result<Started>>);

impl Starting {
    /// Waits until it has started. Fails if the kernel refuses to execute it.
    pub(crate) async fn started(self) -> io::Result<Started> {
        let lost = |_| Err(io::Error::other("the supervising thread was lost"));
        self.0.await.unwrap_or_else(lost)
    }
}

/// A program that was started, with the runtime's ends of its sockets and pipes.
pub(crate) struct Started {
    /// The control sockets, at least one.
    pub(crate) controls: Vec<UnixStream>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) exit: watch::Receiver<Option<ExitStatus>>,
    pub(crate) group: Arc<ProcessGroup>,
}

/// The process group of a program: itself, and the children it started.
pub(crate) struct ProcessGroup {
    /// None once the program has been reaped, as its number may then be another process's.
    leader: Mutex<Option<Pid>>,
    gone: watch::Sender<bool>,
}

impl ProcessGroup {
    /// Kills every process of the group. Does nothing once the program has been reaped.
    pub(crate) fn kill(&self) {
        if let Some(leader) = *self.leader() {
            // It has not been reaped, so the number is still its own.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Stops the program, whatever it does, until it is continued.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Returns the last stop or continuation of the program since the previous call, if any. The kernel reports each
    /// only once.
    pub(crate) fn state_change(&self) -> Option<StateChange> {
        // While the lock is held, the number is still its own.
        let leader = self.leader();
        // Without EXITED no process is reaped.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        let told = waitid(WaitId::Pid((*leader)?), options).ok()??;
        Some(match told.continued() {
            true => StateChange::Continued,
            false => StateChange::Stopped,
        })
    }

    /// Returns the program's process number, until it has been reaped.
    pub(crate) fn number(&self) -> Option<i32> {
        self.leader().map(Pid::as_raw_pid)
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = *self.leader() {
            let _ = kill_process(leader, signal);
        }
    }

    /// Limits the program to this much memory from now on.
    pub(crate) fn limit_memory(&self, mebibytes: u64) -> Result<(), MemoryLimitError> {
        // While the lock is held, the number is still its own.
        let leader = self.leader();
        leader.map_or(Ok(()), |leader| {
            memory_limit::apply(leader.as_raw_pid(), mebibytes)
        })
    }

    /// Kills it, and waits for its end for a limited time. A process may be held up in the kernel, and the end of the
    /// runtime kills it as well.
    pub(crate) async fn end(&self) {
        self.kill();
        let _ = timeout(limits::DYING, self.gone()).await;
    }

    fn leader(&self) -> MutexGuard<'_, Option<Pid>> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the program has ended and is reaped.
    async fn gone(&self) {
        // The sender is in `self`, so it is not dropped while this waits.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }
}

/// A change in the state of a program that can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateChange {
    Stopped,
    Continued,
}

/// Protects this process's memory and environment, which hold the runtime's token, from the program, which runs as the
/// same user.
///
/// # Errors
/// When the kernel refuses.
pub fn make_undumpable() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Begins to start a program with its own variables, a control socket for each lane, and the socket at which other
/// packs find its pack, if there is one.
pub(crate) fn start(
    mut command: Command,
    own: &Environment,
    lanes: usize,
    listener: Option<Arc<OwnedFd>>,
) -> io::Result<Starting> {
    command.env_clear();
    command.envs(
        HANDED_ON
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?))),
    );
    own.apply(&mut command);
    command.env(CONTROL_FD, CONTROL.to_string());
    if listener.is_some() {
        command.env(LISTENER_FD, LISTENER.to_string());
    }
    if lanes > 1 {
        let numbers: Vec<_> = (0..lanes)
            .map(|lane| lane_number(lane).to_string())
            .collect();
        command.env(LANE_FDS, numbers.join(","));
    } else {
        command.env_remove(LANE_FDS);
    }
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..lanes {
        let (our, their) = UnixStream::pair()?;
        our.set_nonblocking(true)?;
        ours.push(our);
        theirs.push(their);
    }
    let (started, starting) = oneshot::channel();
    // The parent-death signal is tied to the thread that starts the child: this one lives exactly
    // as long as the child does.
    thread::Builder::new()
        .name("supervisor".to_owned())
        .spawn(move || {
            let (exited, exit) = watch::channel(None);
            let child = match spawn(&mut command, theirs, listener.as_deref()) {
                Ok(child) => child,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            let (group, mut child, result) = supervise(child, ours, exit);
            let _ = started.send(result);
            if let Some(status) = reap(&group, &mut child) {
                exited.send_replace(Some(status));
            }
            group.gone.send_replace(true);
        })?;
    Ok(Starting(starting))
}

/// Returns the descriptor of a control socket in the child.
fn lane_number(lane: usize) -> i32 {
    match i32::try_from(lane) {
        Ok(lane @ 1..) => LANES + lane - 1,
        _ => CONTROL,
    }
}

fn spawn(
    command: &mut Command,
    controls: Vec<UnixStream>,
    listener: Option<&OwnedFd>,
) -> io::Result<Child> {
    let free = lane_number(controls.len());
    // Descriptors that the child will use are occupied here: if one were free, the pipe by which `spawn` learns of a
    // failed exec could get it, and would be overwritten in the child.
    let _placeholders = reserve_descriptors_below(free)?;
    // None of these copies has a descriptor that the child will use, and none stays open here.
    let mut sources = Vec::new();
    for control in controls {
        sources.push(fcntl_dupfd_cloexec(control, free)?);
    }
    let listener = listener.map(|it| fcntl_dupfd_cloexec(it, free));
    let listener = listener.transpose()?;
    let lanes = sources.iter().enumerate();
    let mut descriptors: Vec<_> = lanes
        .map(|(lane, source)| (source.as_raw_fd(), lane_number(lane)))
        .collect();
    descriptors.extend(listener.iter().map(|it| (it.as_raw_fd(), LISTENER)));
    let runtime = std::process::id();
    // SAFETY: other threads of the runtime may hold any lock while this one forks, so the closure must neither allocate
    // nor lock: it reads integers, and `prepare_child` only makes system calls, whose errors are integers as well.
    unsafe {
        command.pre_exec(move || {
            prepare_child(&descriptors, runtime)?;
            Ok(())
        })
    };
    let child = orphans::spawn_supervised(|| {
        let child = command.spawn()?;
        let leader = child.id() as i32;
        Ok((child, leader))
    })?;
    raise_oom_score(child.id());
    Ok(child)
}

/// Reserves all descriptors below this one for as long as the returned files are kept.
fn reserve_descriptors_below(free: i32) -> io::Result<Vec<File>> {
    let mut placeholders = vec![File::open("/dev/null")?];
    while placeholders
        .last()
        .is_some_and(|last| last.as_raw_fd() < free)
    {
        placeholders.push(File::open("/dev/null")?);
    }
    Ok(placeholders)
}

/// Makes the kernel kill the program under memory pressure, not the runtime that reports on it. If this fails, the
/// kernel still chooses the larger one.
fn raise_oom_score(program: u32) {
    let file = format!("/proc/{program}/oom_score_adj");
    for _ in 0..20 {
        match std::fs::write(&file, "1000") {
            // Unless its user is root, the child is as inaccessible as the runtime until the kernel has finished
            // executing it, and `spawn` returns a moment before that.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                thread::sleep(Duration::from_millis(1));
            }
            _ => return,
        }
    }
}

/// Runs in the child between fork and exec. `descriptors` are those that it will have: their numbers here, which are
/// above all the others, and their numbers there.
fn prepare_child(descriptors: &[(i32, i32)], runtime: u32) -> io::Result<()> {
    let check = |result: i32| match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointers are to values on this stack, which outlive the calls. The descriptors are integers that the
    // parent keeps open until the child has started.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() as u32 != runtime {
            // The runtime died before the line above took effect.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // Anything else that is open here by mistake must not reach the program. Older kernels do not know this call;
        // everything the runtime opens itself is close-on-exec anyway.
        libc::syscall(
            libc::SYS_close_range,
            CONTROL,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
        for &(source, number) in descriptors {
            // The copy is not close-on-exec.
            check(libc::dup2(source, number))?;
        }
        // Writing a core may take longer than anyone wants to wait for the news of a crash.
        check(libc::getrlimit(libc::RLIMIT_CORE, &mut limit))?;
        if limit.rlim_max > limits::NO_CORE {
            (limit.rlim_cur, limit.rlim_max) = (limits::NO_CORE, limits::NO_CORE);
            check(libc::setrlimit(libc::RLIMIT_CORE, &limit))?;
        }
        check(libc::getrlimit(libc::RLIMIT_NPROC, &mut limit))?;
        if limit.rlim_max != libc::RLIM_INFINITY {
            let most = limit.rlim_max;
            limit.rlim_max -= limits::RESERVED_PROCESSES.min(most / 8);
            limit.rlim_cur = limit.rlim_cur.min(limit.rlim_max);
            check(libc::setrlimit(libc::RLIMIT_NPROC, &limit))?;
        }
    }
    Ok(())
}

fn supervise(
    mut child: Child,
    controls: Vec<UnixStream>,
    exit: watch::Receiver<Option<ExitStatus>>,
) -> (Arc<ProcessGroup>, Child, io::Result<Started>) {
    let group = Arc::new(ProcessGroup {
        leader: Mutex::new(Some(Pid::from_child(&child))),
        gone: watch::Sender::new(false),
    });
    let started = match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok(Started {
            controls,
            stdout: stdout.into(),
            stderr: stderr.into(),
            exit,
            group: Arc::clone(&group),
        }),
        _ => Err(io::Error::other("the program has no output pipes")),
    };
    (group, child, started)
}

/// Waits for the program's end, kills the rest of its group, and reaps it.
fn reap(group: &ProcessGroup, child: &mut Child) -> Option<ExitStatus> {
    let process = Pid::from_child(child);
    // NOWAIT leaves the process a zombie, so that its group's number stays taken.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = retry_on_intr(|| waitid(WaitId::Pid(process), options));
    group.kill();
    let mut leader = group.leader();
    let status = child.wait();
    *leader = None;
    drop(leader);
    orphans::reaped(process.as_raw_pid());
    status.ok()
}

/// How a program ended, according to its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signal(i32),
}

impl Ending {
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SOON: std::time::Duration = std::time::Duration::from_secs(60);

    fn next_state_change(group: &ProcessGroup) -> StateChange {
        let began = std::time::Instant::now();
        loop {
            if let Some(turn) = group.state_change() {
                return turn;
            }
            assert!(began.elapsed() < SOON, "no turn was told");
            thread::yield_now();
        }
    }

    #[test]
    fn a_stop_after_a_continuation_is_seen() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let group = ProcessGroup {
            leader: Mutex::new(Some(Pid::from_child(&child))),
            gone: watch::Sender::new(false),
        };
        assert_eq!(group.state_change(), None);
        group.stop();
        assert_eq!(next_state_change(&group), StateChange::Stopped);
        assert_eq!(group.state_change(), None);
        group.go_on();
        group.stop();
        // The continuation may be seen before the stop.
        while next_state_change(&group) != StateChange::Stopped {}
        assert_eq!(group.state_change(), None);
        group.go_on();
        assert_eq!(next_state_change(&group), StateChange::Continued);
        assert_eq!(group.state_change(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        *group.leader() = None;
        assert_eq!(group.state_change(), None);
    }
}

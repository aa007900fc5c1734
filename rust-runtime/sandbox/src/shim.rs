//! A shim's life: it reads a description, makes the sandbox, changes it on orders, and ends it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::lines::{Lines, say};
use crate::sandbox::{Plan, Sandbox};
use crate::servers::Access;
use crate::spec::{Order, Spec};
use crate::{Error, SpecError, signals};

/// Makes the sandbox that the first line of standard input describes, runs `burst-runtime serve` in it, and ends it
/// when standard input does. Blocks until nothing of it is left. Returns the exit code of the runtime.
///
/// For a process with one thread that does nothing else: it changes its own namespaces.
///
/// # Errors
/// When the description is refused, or isolation cannot be set up; then nothing has run.
pub fn launch() -> Result<u8, Error> {
    let input = io::stdin();
    let mut lines = Lines::of(input.as_fd());
    let spec = Spec::read(&first(&mut lines)?)?;
    signals::hold().map_err(Error::Events)?;
    let plan = Plan {
        user: spec.user,
        package: Some(&spec.package),
        sockets: spec.sockets.as_deref(),
        root: spec.root.as_deref(),
        interpreters: spec.interpreters,
        mounts: &spec.mounts,
        cgroup: spec.group.as_ref().map(|name| name.as_str()),
        scratch: [spec.tmp, spec.shm],
        limits: spec.limits,
        environment: Some(std::env::vars_os().collect()),
    };
    let sandbox = Sandbox::make(plan, |processes| {
        let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
        say(&format!("processes {}", numbers.join(" ")));
    })?;
    let told = signals::hear().map_err(Error::Events)?;
    attend(sandbox, lines, told.as_fd(), spec.grace())
}

fn first(lines: &mut Lines<'_>) -> Result<Vec<u8>, Error> {
    let missing = || SpecError::Missing.into();
    let deadline = Instant::now() + DESCRIBED;
    loop {
        if let Some(line) = lines.next() {
            return Ok(line);
        }
        let [readable] = wait([Some(lines.input())], Some(deadline)).map_err(Error::Events)?;
        if !readable || !lines.read().map_err(Error::Events)? {
            return lines.next().ok_or_else(missing);
        }
    }
}

/// How long the description may take to arrive.
const DESCRIBED: Duration = Duration::from_secs(60);

/// How long the kernel may take to end what it kills.
const KILLED: Duration = Duration::from_secs(60);

fn attend(
    mut sandbox: Sandbox,
    mut lines: Lines<'_>,
    told: BorrowedFd<'_>,
    grace: Duration,
) -> Result<u8, Error> {
    let mut phase = Phase::Running;
    loop {
        let running = matches!(phase, Phase::Running);
        let asked = [
            Some(sandbox.ended()),
            running.then_some(lines.input()),
            running.then_some(told),
        ];
        let [ended, input, told] = wait(asked, phase.deadline()).map_err(Error::Events)?;
        if ended {
            break;
        }
        match phase {
            Phase::Running => {
                // An input that cannot be read counts as ended.
                let closed = input && !lines.read().unwrap_or(false);
                while let Some(line) = lines.next() {
                    obey(&mut sandbox, &line);
                }
                if closed || told {
                    sandbox.end();
                    phase = Phase::Ending(Instant::now() + grace);
                }
            }
            Phase::Ending(_) => {
                sandbox.kill();
                phase = Phase::Killed(Instant::now() + KILLED);
            }
            Phase::Killed(_) => return Err(Error::DoesNotEnd),
        }
    }
    let exit = sandbox.reap()?;
    if let Err(error) = exit.removed {
        eprintln!("burst-runtime: {error}");
    }
    if exit.out_of_memory {
        say("out of memory");
    }
    Ok(u8::try_from(exit.code).unwrap_or(u8::MAX))
}

enum Phase {
    Running,
    /// Process 1 was asked to end; the time at which it is killed.
    Ending(Instant),
    /// Process 1 was killed; the time at which the shim gives up.
    Killed(Instant),
}

impl Phase {
    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Running => None,
            Self::Ending(until) | Self::Killed(until) => Some(*until),
        }
    }
}

/// Executes an order. Answers immediately, except for orders about servers, which may take longer.
fn obey(sandbox: &mut Sandbox, line: &[u8]) {
    let changed = match Order::read(line) {
        Ok(Order::Open(targets)) => return sandbox.reach(Access::Open(targets)),
        Ok(Order::Internet(internet)) => return sandbox.reach(Access::Internet(internet.closed)),
        Ok(Order::Listen(listen)) => return sandbox.reach(Access::Listen(listen)),
        Ok(Order::Peers(peers)) => return sandbox.reach(Access::Peers(peers)),
        Ok(Order::Close(_)) => return sandbox.reach(Access::Close),
        Ok(Order::Limits(limits)) => sandbox.change(limits),
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) => say("limits made"),
        Err(Error::Refused(reason)) => say(&format!("limits refused: {reason}")),
        Err(Error::Spec(reason)) => say(&format!("limits refused: {reason}")),
        Err(error) => say(&format!("limits failed: {error}")),
    }
}

/// Waits until one of these is readable; returns which are, or none at the deadline.
fn wait<const N: usize>(
    sources: [Option<BorrowedFd<'_>>; N],
    deadline: Option<Instant>,
) -> io::Result<[bool; N]> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled: Vec<_> = (sources.iter().flatten())
            .map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN))
            .collect();
        match poll(&mut polled, left.as_ref()) {
            Err(Errno::INTR) => continue,
            done => done?,
        };
        let mut told = polled.iter().map(|source| !source.revents().is_empty());
        return Ok(sources.map(|source| source.is_some() && told.next().unwrap_or(false)));
    }
}

//! The start of a program: its process, its lanes and its hello, or why it failed.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use burst_protocol::{LINE_COST, LogStream, PROGRAM, PackEvent, ProgramEvent, Timestamp, Versions};
use tokio::net::UnixStream;

use crate::environment::Environment;
use crate::interpreter::Interpreter;
use crate::lane::{Lane, LaneEvent};
use crate::launcher::LauncherError;
use crate::limits;
use crate::logs::{Pipe, Pipes};
use crate::memory::KillCounter;
use crate::package::Package;
use crate::patience::elapsed;
use crate::process::{self, Started};
use crate::process_end::ProcessEnd;
use crate::supervisor::Program;
use crate::violation::ProtocolViolation;

/// The failed start of a program.
#[derive(Debug)]
pub(crate) struct StartFailure {
    pub(crate) reason: StartError,
    /// The end of its standard error, or else of its standard output.
    pub(crate) tail: Option<String>,
    /// Its output, as the pack's log.
    pub(crate) said: Vec<PackEvent>,
}

impl From<StartError> for StartFailure {
    fn from(reason: StartError) -> Self {
        Self {
            reason,
            tail: None,
            said: Vec::new(),
        }
    }
}

/// Why the start of a program failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The kernel refuses to execute it.
    #[error("the program cannot be executed: {0}")]
    Execution(#[source] io::Error),
    /// Its launcher cannot be started.
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    /// The runtime cannot communicate with it.
    #[error("the program's pipes cannot be set up: {0}")]
    Pipes(#[source] io::Error),
    /// It did not report in time.
    #[error(
        "the program did not report within {} s; is its main `burst::main!`?",
        .0.as_secs_f32()
    )]
    Silent(Duration),
    /// It broke the protocol.
    #[error(transparent)]
    Violation(#[from] ProtocolViolation),
    /// It was built with an SDK that has no version of the protocol in common with this runtime.
    #[error(
        "the program was built with version {sdk:.40} of the SDK, which speaks {} of the protocol with the runtime, \
         and the runtime {}: {}",
        program.named(),
        PROGRAM.named(),
        if PROGRAM.are_older(*program) { "upgrade the platform" } else { "build it with a newer SDK" }
    )]
    OtherVersion {
        /// The version of the SDK.
        sdk: String,
        /// The versions that the program speaks.
        program: Versions,
    },
    /// Its first message was not a hello.
    #[error("the program began with something else than hello")]
    NoHello,
    /// Its process ended before its hello, in this way.
    #[error("the program ended before it was ready: it {0}")]
    Ended(ProcessEnd),
}

/// Starts a package's program, on the interpreter that was started ahead if that fits, and waits for its hello for at
/// most `patience`. Returns it with its lanes, of which there is at least one.
pub(crate) async fn start(
    package: Package,
    environment: Environment,
    listener: Option<Arc<OwnedFd>>,
    interpreter: Option<Interpreter>,
    patience: Duration,
) -> Result<(Arc<Program>, Vec<Lane>), StartFailure> {
    let mut overdue = pin!(async {
        elapsed(patience).await;
        StartError::Silent(patience)
    });
    let memory = KillCounter::of_this_process();
    let killed_before = memory.read();
    let started = tokio::select! {
        started = launch(&package, &environment, listener, interpreter) => started,
        silent = &mut overdue => Err(silent),
    };
    let Started {
        controls,
        stdout,
        stderr,
        exit,
        group,
    } = started?;
    let pipes = Pipes {
        stdout: Pipe::new(LogStream::Stdout, stdout).map_err(StartError::Pipes)?,
        stderr: Pipe::new(LogStream::Stderr, stderr).map_err(StartError::Pipes)?,
    };
    let counted = (memory, killed_before);
    let program = Program::new(package, group, exit, pipes, controls.len(), counted);
    let program = Arc::new(program);
    let mut lanes = Vec::new();
    for (number, control) in controls.into_iter().enumerate() {
        let control = UnixStream::from_std(control).map_err(StartError::Pipes)?;
        lanes.push(Lane::new(number, control, Arc::clone(&program)));
    }
    // The hello comes on the first one.
    let Some(first) = lanes.first_mut() else {
        return Err(StartError::NoHello.into());
    };
    let said = await_hello(first, overdue).await;
    let failure = said.map_err(|reason| start_failure(first, reason));
    first.rest();
    failure.map(|()| (program, lanes))
}

/// Takes the interpreter that was started ahead, or starts a process for the package's program.
async fn launch(
    package: &Package,
    environment: &Environment,
    listener: Option<Arc<OwnedFd>>,
    interpreter: Option<Interpreter>,
) -> Result<Started, StartError> {
    if let Some(interpreter) = interpreter
        && let Some(started) = interpreter.take(package, environment).await
    {
        return Ok(started);
    }
    let starting = process::start(package.command()?, environment, package.lanes(), listener);
    let started = async { starting?.started().await };
    started.await.map_err(StartError::Execution)
}

/// Makes the failure of a start. No flare will run on the program, so its output is reported now.
fn start_failure(lane: &mut Lane, reason: StartError) -> StartFailure {
    let (at, mut room) = (Timestamp::now(), limits::STARTUP_LOG);
    let mut said = Vec::new();
    let Some(Pipes { stdout, stderr }) = lane.pipes() else {
        return reason.into();
    };
    for pipe in [&mut *stderr, &mut *stdout] {
        pipe.drain();
        pipe.finish();
        let lines: Vec<_> = pipe.lines().collect();
        // Keeps the last lines, which are about the end.
        for line in lines.into_iter().rev() {
            let Some(left) = room.checked_sub(LINE_COST + line.len()) else {
                break;
            };
            room = left;
            said.push(PackEvent::Log {
                worker: None,
                stream: pipe.stream(),
                text: line,
                at,
            });
        }
    }
    said.reverse();
    let tails = [&*stderr, &*stdout].map(|pipe| pipe.tail());
    StartFailure {
        reason,
        tail: tails.into_iter().find(|tail| !tail.is_empty()),
        said,
    }
}

async fn await_hello(
    lane: &mut Lane,
    mut overdue: Pin<&mut impl Future<Output = StartError>>,
) -> Result<(), StartError> {
    if let Some(init) = lane.program.init() {
        let queued = lane.outgoing.queue(&init);
        queued.map_err(|problem| StartError::Execution(problem.into()))?;
    }
    let mut open = true;
    loop {
        // Picks one at random if both are ready: a program that never pauses must not hide that its time is up.
        let event = tokio::select! {
            event = lane.next_event(open, true) => event,
            silent = &mut overdue => {
                lane.incoming.drain();
                return match lane.incoming.next() {
                    Ok(Some(frame)) => check_hello(&frame),
                    Ok(None) => Err(silent),
                    Err(violation) => Err(violation.into()),
                };
            }
        };
        match event {
            LaneEvent::Frames => match lane.incoming.next() {
                Ok(None) => {}
                Ok(Some(frame)) => return check_hello(&frame),
                Err(violation) => return Err(violation.into()),
            },
            LaneEvent::Exited(status) => {
                lane.incoming.drain();
                return match lane.incoming.next() {
                    Ok(Some(frame)) => check_hello(&frame),
                    Ok(None) => Err(StartError::Ended(lane.program.explain(status, None))),
                    Err(violation) => Err(violation.into()),
                };
            }
            LaneEvent::ControlClosed => open = false,
            // Kept for its first flare, or to explain why there was no hello.
            LaneEvent::Output => {
                if let Some(Pipes { stdout, stderr }) = lane.pipes() {
                    stdout.keep_last(limits::STARTUP_LOG);
                    stderr.keep_last(limits::STARTUP_LOG);
                }
            }
        }
    }
}

fn check_hello(frame: &[u8]) -> Result<(), StartError> {
    match serde_json::from_slice(frame) {
        Ok(ProgramEvent::Hello { sdk, versions }) => {
            let program = versions.unwrap_or(Versions::only(1));
            let other = StartError::OtherVersion { sdk, program };
            PROGRAM.common(program).map(|_| ()).ok_or(other)
        }
        _ => Err(StartError::NoHello),
    }
}

//! `burst-runtime action-loop EXEC`: the launcher of executables that speak OpenWhisk's action loop. Each worker has a
//! process that stays from flare to flare, gets a line of JSON for each run and answers with one. Executables that do
//! not speak it are started for each run (`skeleton`).

mod action;
mod output;
pub mod skeleton;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use burst_protocol::{LogStream, PackEvent, Timestamp};

use crate::checks::RefusedOutput;
use crate::launched::{self, Commands, LaunchedRun, failure};
use action::{Action, Answer};

/// Serves the runtime until it closes the control socket.
///
/// # Errors
/// When there is no control socket, or communication with the runtime fails.
pub fn serve(exec: &Path) -> io::Result<()> {
    let mut actions = Vec::new();
    launched::serve("action-loop", |run, commands| {
        run_flare(run, exec, &mut actions, commands)
    })
}

fn run_flare(
    run: &LaunchedRun<'_>,
    exec: &Path,
    actions: &mut Vec<Action>,
    commands: &mut Commands,
) -> io::Result<()> {
    actions.retain_mut(Action::is_alive);
    while actions.len() < run.pack.pack_size() as usize {
        match Action::start(exec, &run.pack.invocation) {
            Ok(action) => actions.push(action),
            Err(error) => {
                let reason = RunError::exec(exec, error).to_string();
                return run.give_up(&failure(&reason));
            }
        }
    }
    if !run.begin(commands)? {
        return Ok(());
    }
    run_all(run, actions.iter_mut(), |index, worker, action| {
        run_worker(run, index, worker, action)
    })?;
    run.end(true, None)
}

/// Why a worker's process has returned no result.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("`exec` begins with `{}`, which is not here", .0.escape_debug())]
    NoInterpreter(String),
    #[error("`exec`: {0}")]
    Exec(io::Error),
    #[error("{}", RefusedOutput::TooLarge)]
    TooLarge,
    #[error("The action ended with exit code {0}.")]
    ExitCode(i32),
    #[error("{}", launched::NO_RESULT)]
    NoResult,
}

impl RunError {
    /// Makes the error for an executable that could not be run. If it exists but the kernel reports that it does not,
    /// it is a script's interpreter that is missing.
    fn exec(exec: &Path, error: io::Error) -> Self {
        let by = match error.kind() {
            io::ErrorKind::NotFound => run_by(exec),
            _ => None,
        };
        by.map_or(Self::Exec(error), Self::NoInterpreter)
    }
}

/// Returns the first line of a script, which names its interpreter, if it is one.
fn run_by(exec: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(exec)
        .ok()?
        .take(LONGEST_HEAD)
        .read_to_end(&mut head)
        .ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    line.starts_with(b"#!")
        .then(|| String::from_utf8_lossy(line).into_owned())
}

/// The kernel reads no more than this of a script's first line (`BINPRM_BUF_SIZE`).
const LONGEST_HEAD: u64 = 256;

/// Runs all workers at once, each with its item of `own`.
fn run_all<T: Send>(
    run: &LaunchedRun<'_>,
    own: impl IntoIterator<Item = T>,
    run_worker: impl Fn(usize, u32, T) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let mut workers = run.pack.workers().zip(own).enumerate();
    if run.pack.pack_size() == 1 {
        // Without a thread, whose start the runtime could not tell from that of a process.
        return workers.try_for_each(|(index, (worker, own))| run_worker(index, worker, own));
    }
    thread::scope(|scope| {
        let run_worker = &run_worker;
        let running: Vec<_> = workers
            .map(|(index, (worker, own))| scope.spawn(move || run_worker(index, worker, own)))
            .collect();
        let lost = |_| Err(io::Error::other("a thread was lost"));
        running
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(lost))
    })
}

/// Returns a function that logs what a worker's process writes.
fn log_of(run: &LaunchedRun<'_>, worker: u32) -> impl FnMut(LogStream, String) -> io::Result<()> {
    move |stream, text| {
        let at = Timestamp::now();
        let worker = Some(worker);
        run.say(&[PackEvent::Log {
            worker,
            stream,
            text,
            at,
        }])
    }
}

fn run_worker(
    run: &LaunchedRun<'_>,
    index: usize,
    worker: u32,
    action: &mut Action,
) -> io::Result<()> {
    let at = Timestamp::now();
    run.say(&[PackEvent::WorkerStarted { worker, at }])?;
    let answer = action.run(line(run, index)?, log_of(run, worker))?;
    let at = Timestamp::now();
    let event = match answer {
        Answer::Result(output) => PackEvent::WorkerSucceeded { worker, output, at },
        Answer::NoResult(reason) => PackEvent::WorkerFailed {
            worker,
            error: failure(&reason.to_string()),
            at,
        },
        Answer::Died(status) => return run.end_like(worker, status),
    };
    run.say(&[event])
}

fn line(run: &LaunchedRun<'_>, index: usize) -> io::Result<Vec<u8>> {
    let mut line = run.message(index)?;
    // An input may span several lines, but no string in it can.
    line.iter_mut()
        .filter(|byte| matches!(**byte, b'\n' | b'\r'))
        .for_each(|byte| *byte = b' ');
    line.push(b'\n');
    Ok(line)
}

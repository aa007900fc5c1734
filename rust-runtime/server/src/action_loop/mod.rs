//! `burst-runtime action-loop EXEC`: the launcher of executables that speak OpenWhisk's action loop. Each worker has a
//! process, which stays from flare to flare, gets a line of JSON for each run and answers with one.

mod action;

use std::io;
use std::path::Path;
use std::thread;

use burst_protocol::{LogStream, PackEvent, Timestamp};

use crate::launched::{self, Commands, Flare, failure};
use action::{Action, Answer};

/// Serves the runtime until it closes the control socket.
///
/// # Errors
/// When there is no control socket, or the runtime cannot be talked to.
pub fn serve(exec: &Path) -> io::Result<()> {
    let mut actions = Vec::new();
    launched::serve("action-loop", |flare, commands| {
        run(flare, exec, &mut actions, commands)
    })
}

fn run(
    flare: &Flare<'_>,
    exec: &Path,
    actions: &mut Vec<Action>,
    commands: &mut Commands,
) -> io::Result<()> {
    actions.retain_mut(Action::is_alive);
    while actions.len() < flare.pack.pack_size() as usize {
        match Action::start(exec, &flare.pack.invocation) {
            Ok(action) => actions.push(action),
            Err(error) => return flare.give_up(&failure(&format!("`exec`: {error}"))),
        }
    }
    if !flare.begin(commands)? {
        return Ok(());
    }
    thread::scope(|scope| {
        let workers = (flare.pack.first_worker()..).zip(actions);
        let workers = workers.take(flare.pack.pack_size() as usize).enumerate();
        let running: Vec<_> = workers
            .map(|(index, (worker, action))| {
                scope.spawn(move || run_worker(flare, index, worker, action))
            })
            .collect();
        let lost = |_| Err(io::Error::other("a thread was lost"));
        running
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(lost))
    })?;
    flare.end(true, None)
}

fn run_worker(flare: &Flare<'_>, index: usize, worker: u32, action: &mut Action) -> io::Result<()> {
    let at = Timestamp::now();
    flare.say(&[PackEvent::WorkerStarted { worker, at }])?;
    let answer = action.run(line(flare, index)?, |stream, text| {
        let at = Timestamp::now();
        let worker = Some(worker);
        flare.say(&[PackEvent::Log {
            worker,
            stream,
            text,
            at,
        }])
    })?;
    let at = Timestamp::now();
    let event = match answer {
        Answer::Result(output) => PackEvent::WorkerSucceeded { worker, output, at },
        Answer::NoResult(reason) => PackEvent::WorkerFailed {
            worker,
            error: failure(&reason),
            at,
        },
        Answer::Died(status) => return flare.end_like(worker, status),
    };
    flare.say(&[event])
}

fn line(flare: &Flare<'_>, index: usize) -> io::Result<Vec<u8>> {
    let mut line = flare.told(index)?;
    // An input may be laid out over several lines, but no text in it is.
    line.iter_mut()
        .filter(|byte| matches!(**byte, b'\n' | b'\r'))
        .for_each(|byte| *byte = b' ');
    line.push(b'\n');
    Ok(line)
}

/// Whatever an action writes is a log of this stream.
type Log<'a> = &'a mut dyn FnMut(LogStream, String) -> io::Result<()>;

//! `burst-runtime action-loop EXEC`: the launcher of executables that speak OpenWhisk's action loop. Each worker has a
//! process, which stays from flare to flare, gets a line of JSON for each run and answers with one.

mod action;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::thread;

use burst_protocol::{
    CONTROL_FD, Command, Failure, FailureKind, LogStream, PackEvent, ProgramEvent, RunPack, Said,
    Timestamp, frame,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{inherited, limits};
use action::{Action, Answer};

/// Serves the runtime until it closes the control socket.
///
/// # Errors
/// When there is no control socket, or the runtime cannot be talked to.
pub fn serve(exec: &Path) -> io::Result<()> {
    let number = std::env::var(CONTROL_FD).ok();
    let number = number.and_then(|number| number.parse().ok());
    let socket = inherited::take(number.ok_or(io::ErrorKind::NotFound)?)?;
    let mut commands = BufReader::new(UnixStream::from(socket.as_fd().try_clone_to_owned()?));
    let control = Control(Mutex::new(UnixStream::from(socket)));
    let sdk = "action-loop".to_owned();
    control.send(&[ProgramEvent::Hello { sdk }])?;
    let mut actions = Vec::new();
    while let Some(command) = next(&mut commands)? {
        // An abort may cross the end of its flare.
        if let Command::Run { run, pack } = command {
            let flare = RunningFlare {
                run,
                pack: &pack,
                control: &control,
            };
            flare.run(exec, &mut actions, &mut commands)?;
        }
    }
    Ok(())
}

fn next(commands: &mut BufReader<UnixStream>) -> io::Result<Option<Command>> {
    let message = frame::read(commands, frame::COMMAND_LIMIT)?;
    let command = message.map(|message| Command::parse(&message));
    Ok(command.transpose()?)
}

/// The control socket, to which the workers' threads write in turn.
struct Control(Mutex<UnixStream>);

impl Control {
    fn send<E: Serialize>(&self, events: &[E]) -> io::Result<()> {
        let mut frames = Vec::new();
        for event in events {
            let start = frames.len();
            frames.extend_from_slice(&[0; frame::HEADER]);
            serde_json::to_writer(&mut frames, event)?;
            frame::seal(&mut frames[start..]);
        }
        let mut socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        socket.write_all(&frames)
    }
}

struct RunningFlare<'a> {
    run: u64,
    pack: &'a RunPack,
    control: &'a Control,
}

impl RunningFlare<'_> {
    fn run(
        &self,
        exec: &Path,
        actions: &mut Vec<Action>,
        commands: &mut BufReader<UnixStream>,
    ) -> io::Result<()> {
        actions.retain_mut(Action::is_alive);
        while actions.len() < self.pack.pack_size() as usize {
            match Action::start(exec, &self.pack.invocation) {
                Ok(action) => actions.push(action),
                Err(error) => return self.give_up(&failure(&format!("`exec`: {error}"))),
            }
        }
        let at = Timestamp::now();
        let endpoint = None;
        self.say(&[PackEvent::Ready { endpoint, at }])?;
        if !self.pack.autostart {
            match next(commands)? {
                Some(Command::Abort { error }) => return self.give_up(&error),
                None => std::process::exit(0),
                Some(_) => {}
            }
        }
        thread::scope(|scope| {
            let workers = (self.pack.first_worker()..).zip(actions);
            let workers = workers.take(self.pack.pack_size() as usize).enumerate();
            let running: Vec<_> = workers
                .map(|(index, (worker, action))| {
                    scope.spawn(move || self.run_worker(index, worker, action))
                })
                .collect();
            let lost = |_| Err(io::Error::other("a thread was lost"));
            running
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(lost))
        })?;
        self.end(true, None)
    }

    fn run_worker(&self, index: usize, worker: u32, action: &mut Action) -> io::Result<()> {
        let at = Timestamp::now();
        self.say(&[PackEvent::WorkerStarted { worker, at }])?;
        let answer = action.run(self.line(index)?, |stream, text| {
            let at = Timestamp::now();
            let worker = Some(worker);
            self.say(&[PackEvent::Log {
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
            Answer::Died(status) => self.end_like(worker, status)?,
        };
        self.say(&[event])
    }

    /// What an action is told: the input as `value`, and what is known of the run.
    fn line(&self, index: usize) -> io::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Line<'a> {
            value: Option<&'a RawValue>,
            deadline: String,
            #[serde(flatten)]
            told: BTreeMap<&'a str, &'a str>,
        }
        let told = self.pack.invocation.0.iter();
        let line = Line {
            value: self.pack.inputs.of(index),
            deadline: (self.pack.deadline.as_micros() / 1000).to_string(),
            told: told
                .filter(|(name, _)| !["value", "deadline"].contains(&name.as_str()))
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        };
        let mut line = serde_json::to_vec(&line)?;
        // An input may be laid out over several lines, but no text in it is.
        line.iter_mut()
            .filter(|byte| matches!(**byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
        line.push(b'\n');
        Ok(line)
    }

    /// An action that ends its process ends its pack's, as it would with threads.
    fn end_like(&self, worker: u32, status: ExitStatus) -> io::Result<PackEvent> {
        let signal = status.signal();
        let told = signal.filter(|signal| limits::DYING_SIGNALS.contains(signal));
        let dying = ProgramEvent::Dying {
            worker: Some(worker),
            signal: told,
        };
        let run = self.run;
        self.control.send(&[Said { run, event: &dying }])?;
        if let Some(signal) = signal {
            // SAFETY: takes integers alone. The default is what a signal does to this process, too.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::kill(libc::getpid(), signal);
            }
        }
        std::process::exit(status.code().unwrap_or(1))
    }

    /// No worker runs.
    fn give_up(&self, error: &Failure) -> io::Result<()> {
        let workers = (self.pack.first_worker()..).take(self.pack.pack_size() as usize);
        let failed: Vec<_> = workers
            .map(|worker| PackEvent::WorkerFailed {
                worker,
                error: error.clone(),
                at: Timestamp::now(),
            })
            .collect();
        self.say(&failed)?;
        self.end(false, Some(error.clone()))
    }

    fn end(&self, reusable: bool, error: Option<Failure>) -> io::Result<()> {
        self.say(&[PackEvent::PackEnded {
            reusable,
            error,
            at: Timestamp::now(),
        }])
    }

    fn say(&self, events: &[PackEvent]) -> io::Result<()> {
        let run = self.run;
        let said: Vec<_> = events.iter().map(|event| Said { run, event }).collect();
        self.control.send(&said)
    }
}

fn failure(message: &str) -> Failure {
    Failure::new(FailureKind::Error, message).in_operation("work")
}

/// Whatever an action writes is a log of this stream.
type Log<'a> = &'a mut dyn FnMut(LogStream, String) -> io::Result<()>;

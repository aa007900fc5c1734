//! The parts that the launchers within the runtime share: the control socket, and the events of a run that they send on
//! it.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use burst_protocol::{
    CONTROL_FD, Command, Failure, FailureKind, Invocation, OutgoingEvent, PROGRAM, PackEvent,
    ProgramEvent, RunPack, Timestamp, WORK, frame,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{inherited, limits};

/// The commands from the runtime.
pub(crate) struct Commands(BufReader<UnixStream>);

impl Commands {
    /// Waits for the next command; none once the runtime has closed the control socket.
    pub(crate) fn next(&mut self) -> io::Result<Option<Command>> {
        let message = frame::read(&mut self.0, frame::COMMAND_LIMIT)?;
        let command = message.map(|message| Command::parse(&message));
        Ok(command.transpose()?)
    }
}

/// The control socket's sending side, to which the workers' threads write in turn.
pub(crate) struct ControlWriter(Mutex<UnixStream>);

/// Runs one flare after another until the runtime closes the control socket.
pub(crate) fn serve(
    sdk: &str,
    mut handle: impl FnMut(&LaunchedRun<'_>, &mut Commands) -> io::Result<()>,
) -> io::Result<()> {
    let (mut commands, control) = connect(sdk)?;
    while let Some(command) = commands.next()? {
        // An abort may arrive when its flare has already ended.
        if let Command::Run { run: number, pack } = command {
            let run = LaunchedRun {
                number,
                pack: &pack,
                control: &control,
            };
            handle(&run, &mut commands)?;
        }
    }
    Ok(())
}

/// Takes the control socket and sends the hello.
fn connect(sdk: &str) -> io::Result<(Commands, ControlWriter)> {
    let number = std::env::var(CONTROL_FD).ok();
    let number = number.and_then(|number| number.parse().ok());
    let socket = inherited::take(number.ok_or(io::ErrorKind::NotFound)?)?;
    let commands = BufReader::new(UnixStream::from(socket.as_fd().try_clone_to_owned()?));
    let control = ControlWriter(Mutex::new(UnixStream::from(socket)));
    let sdk = sdk.to_owned();
    control.send(&[ProgramEvent::Hello {
        sdk,
        versions: Some(PROGRAM),
    }])?;
    Ok((Commands(commands), control))
}

impl ControlWriter {
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

/// A launcher's run of a pack.
pub(crate) struct LaunchedRun<'a> {
    pub(crate) number: u64,
    pub(crate) pack: &'a RunPack,
    pub(crate) control: &'a ControlWriter,
}

impl LaunchedRun<'_> {
    /// Reports that the workers can run, and waits until they may. Returns false if the flare is aborted instead; exits
    /// if the runtime is gone.
    pub(crate) fn begin(&self, commands: &mut Commands) -> io::Result<bool> {
        let at = Timestamp::now();
        let endpoint = None;
        self.say(&[PackEvent::Ready { endpoint, at }])?;
        if !self.pack.autostart {
            match commands.next()? {
                Some(Command::Abort { error }) => return self.give_up(&error).map(|()| false),
                None => std::process::exit(0),
                Some(_) => {}
            }
        }
        Ok(true)
    }

    /// Returns the JSON object that a function gets: its input as `value`, and the details of the run.
    pub(crate) fn message(&self, index: usize) -> io::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Message<'a> {
            value: Option<&'a RawValue>,
            deadline: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            traceparent: Option<String>,
            #[serde(flatten)]
            invocation: BTreeMap<&'a str, &'a str>,
        }
        let invocation = self.pack.invocation.0.iter();
        let trace = self.pack.trace.as_ref();
        let message = Message {
            value: self.pack.inputs.of(index),
            deadline: (self.pack.deadline.as_micros() / 1000).to_string(),
            traceparent: trace.and_then(|trace| trace.traceparent(index)),
            invocation: invocation
                .filter(|(name, _)| !["value", "deadline", "traceparent"].contains(&name.as_str()))
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        };
        Ok(serde_json::to_vec(&message)?)
    }

    /// Ends this process in the same way as a worker's process has ended, and so the pack, as it would with threads.
    pub(crate) fn end_like<A>(&self, worker: u32, status: ExitStatus) -> io::Result<A> {
        let signal = status.signal();
        let told = signal.filter(|signal| limits::DYING_SIGNALS.contains(signal));
        let dying = ProgramEvent::Dying {
            worker: Some(worker),
            signal: told,
        };
        let run = self.number;
        self.control.send(&[OutgoingEvent { run, event: &dying }])?;
        if let Some(signal) = signal {
            // SAFETY: takes only integers. The default action lets the signal end this process as well. It is raised in
            // this thread: if another thread got it, this one would have time to exit first.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        std::process::exit(status.code().unwrap_or(1))
    }

    /// Fails all workers, of which none has run, and ends the pack.
    pub(crate) fn give_up(&self, error: &Failure) -> io::Result<()> {
        let failed: Vec<_> = self
            .pack
            .workers()
            .map(|worker| PackEvent::WorkerFailed {
                worker,
                error: error.clone(),
                at: Timestamp::now(),
            })
            .collect();
        self.say(&failed)?;
        self.end(false, Some(error.clone()))
    }

    pub(crate) fn end(&self, reusable: bool, error: Option<Failure>) -> io::Result<()> {
        self.say(&[PackEvent::PackEnded {
            reusable,
            error,
            at: Timestamp::now(),
            traffic: None,
        }])
    }

    pub(crate) fn say(&self, events: &[PackEvent]) -> io::Result<()> {
        let run = self.number;
        let outgoing: Vec<_> = events
            .iter()
            .map(|event| OutgoingEvent { run, event })
            .collect();
        self.control.send(&outgoing)
    }
}

/// Returns the details of a run as environment variables of a function's process.
pub(crate) fn variables(invocation: &Invocation) -> impl Iterator<Item = (String, &String)> {
    let details = invocation.0.iter();
    details.map(|(name, value)| (format!("__OW_{}", name.to_ascii_uppercase()), value))
}

/// Parses a function's answer; none if it is neither an object nor an array.
pub(crate) fn output(answer: &[u8]) -> Option<Box<RawValue>> {
    let output: Option<Box<RawValue>> = serde_json::from_slice(answer).ok();
    output.filter(|output| output.get().starts_with(['{', '[']))
}

pub(crate) const NO_RESULT: &str = "The action did not return a dictionary or array.";

/// Makes the failure of a function that is itself at fault.
pub(crate) fn failure(message: &str) -> Failure {
    Failure::new(FailureKind::Error, message).in_operation(WORK)
}

//! The life of a deployed program: it says hello, then runs one flare after the other until the
//! runtime closes the socket.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;

use burst_protocol::{CONTROL_FD, Command, LISTENER_FD, PROGRAM, ProgramEvent, RunPack, frame};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attribution;
use crate::control_socket::ControlSocket;
use crate::flare::{self, FlareCommands};
use crate::inherited::{self, Inherited};
use crate::interpose;
use crate::worker::Work;
use crate::worker_threads::WorkerThreads;

/// The function that [`main!`](crate::main) calls.
pub fn run<I, O>(work: impl Work<I, O>) -> ExitCode
where
    I: DeserializeOwned,
    O: Serialize,
{
    let Some(socket) = control_socket() else {
        eprintln!(
            "This program is a work function of Burst and is started by the platform: deploy it \
             with `burst deploy NAME PATH`, run it with `burst flare NAME`, or call it in a test \
             with `burst::testing::run`."
        );
        return ExitCode::from(2);
    };
    match serve(&work, socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the control socket failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The socket that the runtime left open, if it started this program.
fn control_socket() -> Option<UnixStream> {
    let socket = UnixStream::from(inherited::descriptor(CONTROL_FD)?);
    // Fails for a descriptor that is not a socket.
    socket.local_addr().ok()?;
    Some(socket)
}

fn serve<I, O>(work: &impl Work<I, O>, socket: UnixStream) -> io::Result<()>
where
    I: DeserializeOwned,
    O: Serialize,
{
    let control = Arc::new(ControlSocket::new(socket.try_clone()?.into()));
    let inherited = Inherited {
        control: Arc::clone(&control),
        listener: inherited::descriptor(LISTENER_FD).map(Arc::new),
    };
    interpose::keep();
    attribution::install(Arc::clone(&control));
    control.send_event(&ProgramEvent::Hello {
        sdk: env!("CARGO_PKG_VERSION").to_owned(),
        versions: Some(PROGRAM),
    });
    let late = Arc::clone(&control);
    let sender = thread::Builder::new().name("late events".to_owned());
    let _detached = sender.spawn(move || late.run_delayed_sends())?;
    let (flares, runs) = mpsc::channel();
    let reader = thread::Builder::new().name("control".to_owned());
    let _detached = reader.spawn(move || {
        let status = match read_commands(socket, &flares) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("the control socket failed: {error}");
                1
            }
        };
        // The runtime has gone, or must be assumed to have: there is nobody left to work for.
        // Running exit handlers under working threads would be unsound.
        // SAFETY: ends the process immediately.
        unsafe { libc::_exit(status) }
    })?;
    thread::scope(|scope| {
        let mut threads = WorkerThreads::new(scope);
        let mut group_state = None;
        for (run, pack, commands) in runs {
            control.begin(run);
            group_state = flare::run(work, pack, commands, &inherited, &mut threads, group_state);
        }
    });
    Ok(())
}

/// Reads commands until the runtime closes the socket.
fn read_commands(
    socket: UnixStream,
    flares: &mpsc::Sender<(u64, Box<RunPack>, Arc<FlareCommands>)>,
) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    let mut current = Arc::new(FlareCommands::default());
    while let Some(message) = frame::read(&mut socket, frame::COMMAND_LIMIT)? {
        match Command::parse(&message)? {
            Command::Run { run, pack } => {
                current = Arc::new(FlareCommands::default());
                if flares.send((run, pack, Arc::clone(&current))).is_err() {
                    return Ok(());
                }
            }
            Command::Start { endpoints } => current.start(endpoints),
            Command::Abort { error } => current.abort(error),
        }
    }
    Ok(())
}

//! A work function that tries to break out of its container and reports the outcome of each attempt. Every attempt is
//! made in a way that does no harm if it succeeds.

mod attempts;
mod limits;
mod neighbour;
mod neighbours;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use burst::{BurstContext, Error};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde::{Deserialize, Serialize};

/// With this argument the program only prints its user.
const WHO: &str = "who";
/// With this argument it waits for ever.
const WAIT: &str = "wait";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "try")]
enum Input {
    /// Tries everything that a container must refuse.
    Everything {
        /// A copy of this program that belongs to another user and has its set-user-ID bit set.
        setuid: Option<PathBuf>,
    },
    /// Tries to take more than the container's share of the machine.
    Limits,
    /// Stays, so that others can try to reach it.
    Stay,
    /// Tries to reach its peers and these addresses.
    Visit { others: Vec<SocketAddr> },
    /// Ends the runtime, which runs as the same user.
    EndRuntime,
    /// Takes everything that the kernel grants a user, and keeps it.
    Exhaust,
    /// Uses a little of that.
    Need,
    /// Uses memory.
    Touch { mebibytes: usize },
    /// Leaves things that outlive the flare.
    Leave,
    /// Looks for things that others have left.
    Look,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Report {
    Everything(Everything),
    Limits(limits::Taken),
    Found(neighbour::Found),
    Touched(usize),
    Nothing,
    Reached(neighbours::Reached),
}

#[derive(Serialize)]
struct Everything {
    /// The kind of error that each attempt met; none if it succeeded.
    attempts: BTreeMap<&'static str, Option<String>>,
    /// The user of this process.
    user: u32,
    /// The user that the set-user-ID copy printed.
    setuid: Option<String>,
}

fn work(input: Input, burst: &BurstContext) -> Result<Report, Error> {
    match input {
        Input::Everything { setuid } => {
            let output = setuid.map(|copy| Command::new(copy).arg(WHO).output());
            let output = output.transpose()?.map(|output| output.stdout);
            Ok(Report::Everything(Everything {
                attempts: attempts::all(),
                user: geteuid().as_raw(),
                setuid: output.map(|output| String::from_utf8_lossy(&output).into_owned()),
            }))
        }
        Input::Exhaust => Ok(neighbour::exhaust().map(|()| Report::Nothing)?),
        Input::Need => Ok(neighbour::need().map(|()| Report::Nothing)?),
        Input::Touch { mebibytes } => Ok(Report::Touched(neighbour::touch(mebibytes))),
        Input::Leave => Ok(neighbour::leave().map(|()| Report::Nothing)?),
        Input::Look => Ok(Report::Found(neighbour::look()?)),
        Input::Limits => Ok(Report::Limits(limits::exceed()?)),
        Input::Stay => neighbours::stay(),
        Input::Visit { others } => Ok(Report::Reached(neighbours::visit(&others, burst)?)),
        Input::EndRuntime => {
            kill_process(Pid::INIT, Signal::TERM)?;
            loop {
                std::thread::park();
            }
        }
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(WHO) => {
            print!("{}", geteuid().as_raw());
            ExitCode::SUCCESS
        }
        Some(WAIT) => loop {
            std::thread::park();
        },
        _ => burst::program::run(work),
    }
}

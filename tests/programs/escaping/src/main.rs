//! A work function that tries to break out of its container and says what came of each attempt. Every attempt is made
//! such that it harms nobody if it succeeds.

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

/// With this argument the program only says who it is.
const WHO: &str = "who";
/// With this one it does nothing for ever.
const WAIT: &str = "wait";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "try")]
enum Input {
    /// All that a container must refuse.
    Everything {
        /// A copy of this program that belongs to somebody else and has its set-user-id bit.
        setuid: Option<PathBuf>,
    },
    /// To take more than the container's share of what the machine has.
    Limits,
    /// To stay where it is, for others to reach.
    Stay,
    /// To reach its peers, and these.
    Visit { others: Vec<SocketAddr> },
    /// To end the runtime, which runs as the same user.
    EndRuntime,
    /// To take all that the kernel gives a user, and keep it.
    Exhaust,
    /// To have a little of that.
    Need,
    /// To use memory.
    Touch { mebibytes: usize },
    /// To leave what outlives the flare.
    Leave,
    /// To find what others have left.
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
    /// The kind of error each attempt met; none if it succeeded.
    attempts: BTreeMap<&'static str, Option<String>>,
    /// Who this is.
    user: u32,
    /// Who the set-user-id copy said it was.
    setuid: Option<String>,
}

fn work(input: Input, burst: &BurstContext) -> Result<Report, Error> {
    match input {
        Input::Everything { setuid } => {
            let said = setuid.map(|copy| Command::new(copy).arg(WHO).output());
            let said = said.transpose()?.map(|said| said.stdout);
            Ok(Report::Everything(Everything {
                attempts: attempts::all(),
                user: geteuid().as_raw(),
                setuid: said.map(|said| String::from_utf8_lossy(&said).into_owned()),
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

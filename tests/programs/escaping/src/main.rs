//! A work function that tries to break out of its container and says what came of each attempt. Every attempt is made
//! such that it harms nobody if it succeeds.

mod attempts;
mod limits;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use burst::{BurstContext, Error};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde::{Deserialize, Serialize};

/// With this argument the program only says who it is.
const WHO: &str = "who";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "try")]
enum Input {
    /// All that a container must refuse.
    Everything {
        /// A copy of this program that belongs to somebody else and has its set-user-id bit.
        setuid: PathBuf,
    },
    /// To take more than the container's share of what the machine has.
    Limits,
    /// To end the runtime, which runs as the same user.
    EndRuntime,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Report {
    Everything(Everything),
    Limits(limits::Taken),
}

#[derive(Serialize)]
struct Everything {
    /// The kind of error each attempt met; none if it succeeded.
    attempts: BTreeMap<&'static str, Option<String>>,
    /// Who this is.
    user: u32,
    /// Who the set-user-id copy said it was.
    setuid: String,
}

fn work(input: Input, _burst: &BurstContext) -> Result<Report, Error> {
    match input {
        Input::Everything { setuid } => {
            let said = Command::new(setuid).arg(WHO).output()?;
            Ok(Report::Everything(Everything {
                attempts: attempts::all(),
                user: geteuid().as_raw(),
                setuid: String::from_utf8_lossy(&said.stdout).into_owned(),
            }))
        }
        Input::Limits => Ok(Report::Limits(limits::exceed()?)),
        Input::EndRuntime => {
            kill_process(Pid::INIT, Signal::TERM)?;
            loop {
                std::thread::park();
            }
        }
    }
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(WHO) {
        print!("{}", geteuid().as_raw());
        return ExitCode::SUCCESS;
    }
    burst::program::run(work)
}

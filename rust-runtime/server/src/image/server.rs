//! The image's server: its process, and what it is asked.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use burst_protocol::{CONTROL_FD, Invocation};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::http::{self, CallError, Reply};
use super::{Image, NOT_INITIALISED};
use crate::environment::IMAGE;

/// What came of a call.
pub(super) enum Answer {
    /// It takes runs now.
    Ready,
    Output(Box<RawValue>),
    Failed(String),
    Died(ExitStatus),
}

pub(super) struct Server {
    child: Child,
    initialised: bool,
}

impl Server {
    /// Starts the image's command, with its own environment, the definition's and what is told of the first run. What
    /// it prints goes where this process's own output goes.
    pub(super) fn start(
        image: &Image,
        own: &BTreeMap<String, String>,
        told: &Invocation,
    ) -> io::Result<Self> {
        let (program, arguments) = image.command.split_first().ok_or_else(|| {
            io::Error::other("it has none, so set ENTRYPOINT or CMD in its Dockerfile")
        })?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&image.directory)
            .env_remove(CONTROL_FD)
            .env_remove(IMAGE)
            .envs(&image.environment)
            .envs(own)
            .stdin(Stdio::null());
        for (name, value) in &told.0 {
            command.env(format!("__OW_{}", name.to_ascii_uppercase()), value);
        }
        // SAFETY: the closure makes one system call on integers.
        unsafe {
            command.pre_exec(
                || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                },
            );
        }
        Ok(Self {
            child: command.spawn()?,
            initialised: false,
        })
    }

    pub(super) fn is_initialised(&self) -> bool {
        self.initialised
    }

    /// Waits until it listens and tells it of the function. For how long, who has the flare's deadline sees to.
    pub(super) async fn initialise(&mut self, body: Vec<u8>) -> io::Result<Answer> {
        let asked = async {
            let mut pause = FIRST_PAUSE;
            let stream = loop {
                match http::connect().await {
                    Ok(stream) => break stream,
                    Err(_) => sleep(pause).await,
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            };
            http::post(stream, "/init", body).await
        };
        let reply = match self.ask(asked).await? {
            Asked::Replied(reply) => reply,
            Asked::Died(status) => return Ok(Answer::Died(status)),
        };
        Ok(match reply {
            Ok(reply) if reply.status == StatusCode::OK => {
                self.initialised = true;
                Answer::Ready
            }
            Ok(reply) => Answer::Failed(format!("{NOT_INITIALISED}: {}", reason(&reply))),
            Err(error) => Answer::Failed(format!("{NOT_INITIALISED}: {error}")),
        })
    }

    pub(super) async fn run(&mut self, body: Vec<u8>) -> io::Result<Answer> {
        let asked = async { http::post(http::connect().await?, "/run", body).await };
        let reply = match self.ask(asked).await? {
            Asked::Replied(reply) => reply,
            Asked::Died(status) => return Ok(Answer::Died(status)),
        };
        Ok(match reply {
            Ok(reply) if reply.status == StatusCode::OK => match output(&reply) {
                Some(output) => Answer::Output(output),
                None => Answer::Failed(NO_RESULT.to_owned()),
            },
            Ok(reply) => Answer::Failed(reason(&reply)),
            Err(error) => Answer::Failed(format!("{NO_RESPONSE}: {error}.")),
        })
    }

    async fn ask(
        &mut self,
        call: impl Future<Output = Result<Reply, CallError>>,
    ) -> io::Result<Asked> {
        let reply = tokio::select! {
            biased;
            reply = call => reply,
            status = self.child.wait() => return status.map(Asked::Died),
        };
        match reply {
            // As a rule the server has died, which is known a moment later.
            Err(CallError::Http(_) | CallError::Unreachable(_)) => {
                match timeout(DYING, self.child.wait()).await {
                    Ok(status) => status.map(Asked::Died),
                    Err(_) => Ok(Asked::Replied(reply)),
                }
            }
            reply => Ok(Asked::Replied(reply)),
        }
    }
}

enum Asked {
    Replied(Result<Reply, CallError>),
    Died(ExitStatus),
}

const NO_RESULT: &str = "The action did not return a dictionary or array.";
const NO_RESPONSE: &str = "The action did not produce a valid response";

/// Between two looks whether it listens.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How long the end of a process may take to be known that ends its connections.
const DYING: Duration = Duration::from_millis(100);

fn output(reply: &Reply) -> Option<Box<RawValue>> {
    let output: Option<Box<RawValue>> = serde_json::from_slice(&reply.body).ok();
    output.filter(|output| output.get().starts_with(['{', '[']))
}

/// What it says is wrong.
fn reason(reply: &Reply) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        error: Box<RawValue>,
    }
    let status = reply.status.as_u16();
    match serde_json::from_slice::<Refusal>(&reply.body) {
        Ok(Refusal { error }) => {
            let text: Result<String, _> = serde_json::from_str(error.get());
            text.unwrap_or_else(|_| error.get().to_owned())
        }
        Err(_) => format!("The action's server answered with status {status} and no `error`."),
    }
}

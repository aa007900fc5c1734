//! The image's server: its process, and what it is asked.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use burst_protocol::{CONTROL_FD, Invocation};
use hyper::StatusCode;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::http::{self, CallError, Reply};
use super::{Image, NOT_INITIALISED};
use crate::environment::IMAGE;
use crate::launched;

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
            .envs(launched::variables(told))
            .stdin(Stdio::null());
        // SAFETY: the closure makes one system call on integers.
        unsafe {
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
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
        let answer = self.ask(asked, |reply| match reply {
            Ok(reply) if reply.status == StatusCode::OK => Answer::Ready,
            Ok(reply) => Answer::Failed(format!("{NOT_INITIALISED}: {}", reason(&reply))),
            Err(error) => Answer::Failed(format!("{NOT_INITIALISED}: {error}")),
        });
        let answer = answer.await?;
        self.initialised = matches!(answer, Answer::Ready);
        Ok(answer)
    }

    pub(super) async fn run(&mut self, body: Vec<u8>) -> io::Result<Answer> {
        let asked = async { http::post(http::connect().await?, "/run", body).await };
        let answer = self.ask(asked, |reply| match reply {
            Ok(reply) if reply.status == StatusCode::OK => match launched::output(&reply.body) {
                Some(output) => Answer::Output(output),
                None => Answer::Failed(launched::NO_RESULT.to_owned()),
            },
            Ok(reply) => Answer::Failed(reason(&reply)),
            Err(error) => Answer::Failed(format!("{NO_RESPONSE}: {error}.")),
        });
        answer.await
    }

    /// What the reply to a call means, unless the server dies of it.
    async fn ask(
        &mut self,
        call: impl Future<Output = Result<Reply, CallError>>,
        meaning: impl FnOnce(Result<Reply, CallError>) -> Answer,
    ) -> io::Result<Answer> {
        let reply = tokio::select! {
            biased;
            reply = call => reply,
            status = self.child.wait() => return status.map(Answer::Died),
        };
        // As a rule the server has died, which is known a moment later.
        if let Err(CallError::Http(_) | CallError::Unreachable(_)) = reply
            && let Ok(status) = timeout(DYING, self.child.wait()).await
        {
            return status.map(Answer::Died);
        }
        Ok(meaning(reply))
    }
}

const NO_RESPONSE: &str = "The action did not produce a valid response";

/// Between two looks whether it listens.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How long the end of a process may take to be known that ends its connections.
const DYING: Duration = Duration::from_millis(100);

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

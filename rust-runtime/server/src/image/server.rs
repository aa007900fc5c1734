//! The image's server: its process, and the calls to it.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use burst_protocol::{CONTROL_FD, Invocation};
use hyper::StatusCode;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::value::RawValue;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::Image;
use super::error::{Error, Refusal};
use super::http::{self, CallError, Reply};
use crate::environment::IMAGE;
use crate::launched;

/// The outcome of a call.
pub(super) enum Answer {
    /// The server accepts runs now.
    Ready,
    Output(Box<RawValue>),
    Failed(Error),
    Died(ExitStatus),
}

pub(super) struct Server {
    child: Child,
    initialised: bool,
}

impl Server {
    /// Starts the image's command, with its own environment, the definition's and the variables of the first run. Its
    /// output goes where this process's own output goes.
    pub(super) fn start(
        image: &Image,
        own: &BTreeMap<String, String>,
        invocation: &Invocation,
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
            .envs(launched::variables(invocation))
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

    /// Waits until the server listens, and initialises it with the function. Has no timeout of its own: the runtime
    /// enforces the flare's deadline.
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
            Ok(reply) => Answer::Failed(Error::InitRefused(Refusal::of(&reply))),
            Err(error) => Answer::Failed(Error::InitUnanswered(error)),
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
                None => Answer::Failed(Error::NoResult),
            },
            Ok(reply) => Answer::Failed(Error::Refused(Refusal::of(&reply))),
            Err(error) => Answer::Failed(Error::Unanswered(error)),
        });
        answer.await
    }

    /// Makes a call and returns what its reply means, unless the server dies.
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
        // Usually the server has died, which becomes known a moment later.
        if let Err(CallError::Http(_) | CallError::Unreachable(_)) = reply
            && let Ok(status) = timeout(DYING, self.child.wait()).await
        {
            return status.map(Answer::Died);
        }
        Ok(meaning(reply))
    }
}

/// The pauses between attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How long to wait for the end of a process whose connection has broken.
const DYING: Duration = Duration::from_millis(100);

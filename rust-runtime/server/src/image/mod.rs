//! `burst-runtime image`: the launcher of users' own images that keep OpenWhisk's contract for containers. It starts
//! the image's command, which is an HTTP server, sends it the function once (`/init`) and then each run (`/run`).
//!
//! The contract allows one run at a time, so the workers of a pack run one after the other.

mod code;
mod error;
mod http;
mod server;

use std::collections::BTreeMap;
use std::io;

use burst_protocol::{PackEvent, Timestamp};
use serde::{Deserialize, Serialize};

use crate::environment::{HANDED_ON, IMAGE};
use crate::launched::{self, Commands, LaunchedRun, failure};
use code::Code;
use error::Error;
use server::{Answer, Server};

/// The description of an image.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    /// The program and its arguments.
    command: Vec<String>,
    /// The directory in which it is started.
    directory: String,
    environment: BTreeMap<String, String>,
}

/// Serves the runtime until it closes the control socket. The package's code is in the working directory, and `main`
/// names its function.
///
/// # Errors
/// When there is no image or no control socket, or communication with the runtime fails.
pub fn serve(main: &str) -> io::Result<()> {
    let told = std::env::var(IMAGE).map_err(io::Error::other)?;
    let image: Image = serde_json::from_str(&told)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut server = None;
    launched::serve("image", |run, commands| {
        runtime.block_on(run_flare(run, &image, main, &mut server, commands))
    })
}

async fn run_flare(
    run: &LaunchedRun<'_>,
    image: &Image,
    main: &str,
    server: &mut Option<Server>,
    commands: &mut Commands,
) -> io::Result<()> {
    let server = match server {
        Some(server) => server,
        None => match Server::start(image, &own_variables(), &run.pack.invocation) {
            Ok(started) => server.insert(started),
            Err(reason) => {
                let command = image.command.first().cloned().unwrap_or_default();
                let error = Error::Command { command, reason };
                return run.give_up(&failure(&error.to_string()));
            }
        },
    };
    if !run.begin(commands)? {
        return Ok(());
    }
    for (index, worker) in run.pack.workers().enumerate() {
        let at = Timestamp::now();
        run.say(&[PackEvent::WorkerStarted { worker, at }])?;
        let initialised = match server.is_initialised() {
            true => Answer::Ready,
            false => server.initialise(init_body(run, main)?).await?,
        };
        let answer = match initialised {
            Answer::Ready => server.run(run.message(index)?).await?,
            other => other,
        };
        let at = Timestamp::now();
        let event = match answer {
            Answer::Output(output) => PackEvent::WorkerSucceeded { worker, output, at },
            Answer::Died(status) => return run.end_like(worker, status),
            // The runtime then reports the end of the other workers.
            Answer::Failed(reason) => {
                let error = failure(&reason.to_string());
                let failed = error.clone();
                run.say(&[PackEvent::WorkerFailed { worker, error, at }])?;
                return run.end(false, Some(failed));
            }
            Answer::Ready => return Err(io::Error::other("a run has no answer")),
        };
        run.say(&[event])?;
    }
    run.end(true, None)
}

/// Returns the definition's environment variables: all except those that the runtime has passed on from its own.
fn own_variables() -> BTreeMap<String, String> {
    std::env::vars()
        .filter(|(name, _)| !name.starts_with("BURST_") && !HANDED_ON.contains(&name.as_str()))
        .collect()
}

fn init_body(run: &LaunchedRun<'_>, main: &str) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Init<'a> {
        value: Value<'a>,
    }
    #[derive(Serialize)]
    struct Value<'a> {
        name: &'a str,
        main: &'a str,
        code: String,
        binary: bool,
        env: BTreeMap<String, String>,
    }
    let invocation = &run.pack.invocation;
    let name = invocation.0.get("action_name").map_or("", String::as_str);
    let deadline = (run.pack.deadline.as_micros() / 1000).to_string();
    let mut env = own_variables();
    env.extend(launched::variables(invocation).map(|(name, value)| (name, value.clone())));
    env.insert("__OW_DEADLINE".to_owned(), deadline);
    let Code { text, binary } = Code::read(&std::env::current_dir()?)?;
    Ok(serde_json::to_vec(&Init {
        value: Value {
            name: name.rsplit('/').next().unwrap_or_default(),
            main,
            code: text,
            binary,
            env,
        },
    })?)
}

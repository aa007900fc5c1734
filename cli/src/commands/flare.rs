//! `burst flare`.

use burst_client::{Accepted, Answer, Client, Error as ApiError};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::args::{FlareArgs, GlobalArgs, InputArgs, Options};
use crate::commands::logs::Log;
use crate::commands::{definitions, result, status};
use crate::error::Error;
use crate::follow::{Kind, Watcher};
use crate::inputs;
use crate::interrupt::Interrupts;
use crate::output::{self, Printer};
use crate::progress::Progress;
use crate::{failure, ids};

/// The body of the request.
#[derive(Serialize)]
pub struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    params: Box<RawValue>,
    #[serde(flatten)]
    options: &'a Options,
}

impl<'a> Body<'a> {
    /// Sets the definition's version.
    pub fn of(self, version: &'a str) -> Self {
        let version = Some(version);
        Self { version, ..self }
    }
}

/// Starts a flare, and waits for it if requested.
pub fn run(client: &Client, args: &FlareArgs, global: &GlobalArgs) -> Result<(), Error> {
    let (body, size) = body(args.version.as_deref(), &args.inputs, &args.options)?;
    let start = Start {
        on: On::Definition(args.name.clone()),
        name: &args.name,
        version: args.version.as_deref(),
        size,
        blocking: args.blocking,
        result: args.result,
        logs: false,
    };
    start.run(client, &body, global)
}

/// What a flare runs: a definition on packs of its own, or a group's definition on the group's
/// packs.
#[derive(Clone)]
pub enum On {
    /// The definition of this name.
    Definition(String),
    /// The group of this id.
    Group(String),
}

impl On {
    fn flare(&self, client: &Client, body: &RawValue) -> Result<Answer<Accepted>, ApiError> {
        match self {
            Self::Definition(name) => client.flare(name, body),
            Self::Group(id) => client.flare_on_group(id, body),
        }
    }
}

/// A flare to start.
pub struct Start<'a> {
    /// The definition or group to start it on.
    pub on: On,
    /// The definition's name.
    pub name: &'a str,
    /// The requested version of the definition.
    pub version: Option<&'a str>,
    /// The number of workers.
    pub size: u64,
    /// Whether to wait for its end.
    pub blocking: bool,
    /// Whether to wait and print the outputs.
    pub result: bool,
    /// Whether to show the workers' log while waiting.
    pub logs: bool,
}

impl Start<'_> {
    fn explain(&self, error: Error) -> Error {
        match &self.on {
            On::Definition(name) => definitions::explain(error, name, self.version),
            On::Group(_) => error,
        }
    }

    /// Starts it, and waits for it if requested.
    pub fn run(
        &self,
        client: &Client,
        body: &impl Serialize,
        global: &GlobalArgs,
    ) -> Result<(), Error> {
        let body = inputs::json(body)?;
        if !self.blocking && !self.result {
            let answer = self.on.flare(client, &body);
            let answer = answer.map_err(|cause| self.explain(cause.into()))?;
            let id = answer.read()?.flare_id;
            output::done(global.output, &answer, &format!("flare {id}"))?;
            let id = ids::short(&id);
            output::next(&[
                &format!("`burst wait {id}`"),
                &format!("`burst logs {id} --follow`"),
            ]);
            return Ok(());
        }
        // Listens before the flare exists, so that Ctrl-C can at no moment end the command and
        // leave the flare running.
        let watcher = Watcher {
            client,
            kind: Kind::Flare,
            interrupts: Interrupts::listen()?,
        };
        let on = self.on.clone();
        let started = watcher.start(move |client| on.flare(client, &body));
        let (answer, stopped) = started.map_err(|error| self.explain(error))?;
        let id = answer.read()?.flare_id;
        let progress = Progress::flare(self.name, self.size, global.verbose);
        let mut log = self
            .logs
            .then(|| Log::new(client, &id, None, Printer::beside));
        let (answer, flare) = watcher.until(&id, stopped, Client::get_flare, |answer| {
            let flare = answer.read()?;
            if let Some(due) = &mut log
                && due.is_due(&flare)
            {
                match progress.aside(|| due.more()) {
                    // Nobody reads the log. The flare goes on, and its end still counts.
                    Err(Error::Output(_)) => log = None,
                    printed => printed?,
                }
            }
            if flare.state.is_final() {
                return Ok(Some((answer, flare)));
            }
            progress.update(&flare);
            Ok(None)
        })?;
        drop(progress);
        if !self.result {
            return status::ended(&answer, &flare, global.output);
        }
        // `result::print` also fails as the flare did, but knows less about the cause.
        match (result::print(client, &id), failure::of_flare(&flare)) {
            (Err(Error::Flare { .. }), Some(failed)) => Err(failed),
            (printed, _) => {
                let short = ids::short(&id);
                printed.inspect(|()| {
                    output::next(&[
                        &format!("`burst logs {short}`"),
                        &format!("`burst timeline {short}`"),
                    ]);
                })
            }
        }
    }
}

/// Returns the body of the request, and the number of workers that it asks for.
pub fn body<'a>(
    version: Option<&'a str>,
    args: &InputArgs,
    options: &'a Options,
) -> Result<(Body<'a>, u64), Error> {
    let (size, params, workers) = match &args.params_file {
        Some(path) => {
            let inputs = inputs::each(path)?;
            (None, inputs::json(&inputs)?, inputs.len() as u64)
        }
        None => {
            let size = args.size.unwrap_or(1);
            let params = inputs::params(&args.params)?;
            (Some(size), inputs::json(&params)?, size.into())
        }
    };
    let body = Body {
        version,
        size,
        params,
        options,
    };
    Ok((body, workers))
}

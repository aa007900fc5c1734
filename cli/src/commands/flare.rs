//! `burst flare`.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::{FlareRef, Outcome};
use crate::args::{FlareArgs, Format, GlobalArgs, Options};
use crate::client::Client;
use crate::commands::flares;
use crate::error::Error;
use crate::inputs::{self, Params};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::{failure, follow, output};

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    params: Inputs,
    #[serde(flatten)]
    options: &'a Options,
}

/// What the workers get.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Inputs {
    Shared(Params),
    Each(Vec<Box<RawValue>>),
}

/// Starts a flare, and waits for it if told to.
pub fn run(client: &Client, args: &FlareArgs, global: &GlobalArgs) -> Result<(), Error> {
    let (body, size) = body(args)?;
    let start = Start {
        path: &["bursts", &args.name],
        name: &args.name,
        size,
        blocking: args.blocking,
        result: args.result,
    };
    start.run(client, &body, global)
}

/// A flare that is to be started.
pub struct Start<'a> {
    /// What it is posted to.
    pub path: &'a [&'a str],
    /// The definition's name.
    pub name: &'a str,
    /// How many workers it has.
    pub size: u64,
    /// Wait for its end.
    pub blocking: bool,
    /// Wait, and print the outputs.
    pub result: bool,
}

impl Start<'_> {
    /// Starts it, and waits for it if told to.
    pub fn run(
        &self,
        client: &Client,
        body: &impl Serialize,
        global: &GlobalArgs,
    ) -> Result<(), Error> {
        // Listening before the flare exists, so that no moment is left in which Ctrl-C forgets it.
        let interrupts = if self.blocking || self.result {
            Some(Interrupts::listen()?)
        } else {
            None
        };
        let answer = client.post(self.path, &[], body)?;
        let id = answer.read::<FlareRef>()?.flare_id;
        let Some(interrupts) = interrupts else {
            return output::answer(global.output, &answer, || Ok(format!("ok: flare {id}")));
        };
        let progress = Progress::flare(self.name, self.size, global.verbose);
        let (answer, flare) = follow::to_the_end(client, &id, &progress, &interrupts)?;
        drop(progress);
        let failed = failure::of_flare(&flare);
        if !self.result {
            output::answer(global.output, &answer, || Ok(flares::describe(&flare)))?;
        } else if failed.is_none() || global.output == Format::Json {
            print_outputs(client, &id, global.output)?;
        }
        failed.map_or(Ok(()), Err)
    }
}

fn body(args: &FlareArgs) -> Result<(Body<'_>, u64), Error> {
    let options = &args.options;
    if let Some(path) = &args.params_file {
        let inputs = inputs::each(path)?;
        let size = inputs.len() as u64;
        return Ok((
            Body {
                size: None,
                params: Inputs::Each(inputs),
                options,
            },
            size,
        ));
    }
    let size = args.size.unwrap_or(1);
    let params = Inputs::Shared(inputs::params(&args.params)?);
    Ok((
        Body {
            size: Some(size),
            params,
            options,
        },
        size.into(),
    ))
}

fn print_outputs(client: &Client, id: &str, format: Format) -> Result<(), Error> {
    let answer = client.get(&["flares", id, "result"], &[])?;
    output::answer(format, &answer, || {
        let mut outcome: Outcome = answer.read()?;
        output::outputs(&mut outcome.outputs)
            .ok_or_else(|| Error::BadAnswer("a worker that succeeded has no output".into()))
    })
}

//! `burst flare`.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::{Flare, FlareRef};
use crate::args::{FlareArgs, GlobalArgs, Options};
use crate::client::Client;
use crate::commands::{flares, result};
use crate::error::Error;
use crate::follow::{Kind, Watcher};
use crate::inputs::{self, Params};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::{failure, output};

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
        if !self.blocking && !self.result {
            let answer = client.post(self.path, &[], body)?;
            let id = answer.read::<FlareRef>()?.flare_id;
            return output::answer(global.output, &answer, || Ok(format!("ok: flare {id}")));
        }
        // Listening before the flare exists, so that no moment is left in which Ctrl-C forgets it.
        let watcher = Watcher {
            client,
            kind: Kind::Flare,
            interrupts: Interrupts::listen()?,
        };
        let (answer, stopped) = watcher.start(self.path, body)?;
        let id = answer.read::<FlareRef>()?.flare_id;
        let progress = Progress::flare(self.name, self.size, global.verbose);
        let (answer, flare) = watcher.until(&id, stopped, |answer| {
            let flare: Flare = answer.read()?;
            if flare.state.is_final() {
                return Ok(Some((answer, flare)));
            }
            progress.update(&flare);
            Ok(None)
        })?;
        drop(progress);
        let failed = failure::of_flare(&flare);
        if !self.result {
            output::answer(global.output, &answer, || Ok(flares::describe(&flare)))?;
        } else {
            // Fails as the flare did, too, but knows less of why.
            match (result::print(client, &id), failed) {
                (Err(Error::Flare { .. }), Some(failed)) => return Err(failed),
                (printed, _) => return printed,
            }
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

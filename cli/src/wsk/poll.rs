//! `activation poll`: what activations wrote, as they end.

use std::collections::HashSet;
use std::time::{Duration, Instant, UNIX_EPOCH};

use burst_client::{Activation, Answer, ListActivationsQuery};

use super::client_context::{ClientContext, parsed};
use super::{name, show};
use crate::args::wsk::activation::PollArgs;
use crate::error::Error;
use crate::inputs;
use crate::interrupt::Interrupts;
use crate::output::{self, Printer};

const PAUSE: Duration = Duration::from_secs(2);
/// By how much polls overlap: they ask for activations by their start, and one that began before
/// others can end after them.
const OVERLAP: Duration = Duration::from_secs(5 * 60);

/// Polls until the user wants to stop, or the time is up.
pub fn run(context: &ClientContext, args: &PollArgs) -> Result<(), Error> {
    let name = name::of_activations(args.name.as_deref())?;
    let interrupts = Interrupts::listen()?;
    let end = args
        .exit
        .map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    output::line("Enter Ctrl-c to exit.\nPolling for activation logs")?;
    let begin = since_epoch().saturating_sub(before(args));
    let mut since = begin;
    let mut seen = HashSet::new();
    loop {
        let asked = since_epoch();
        let query = ListActivationsQuery {
            limit: Some(0),
            name: name.clone(),
            since: Some(UNIX_EPOCH + since),
            docs: Some(true),
            ..ListActivationsQuery::default()
        };
        let client = context.client().clone();
        // A platform that does not answer does not delay the end.
        let Ok(answer) = interrupts.during(move || client.list_activations(&query)) else {
            return Ok(());
        };
        let answer = answer.map(Answer::cast);
        let mut ended: Vec<Activation> = parsed(answer, "poll for activations")?;
        // They come newest first.
        ended.reverse();
        let mut printer = Printer::new();
        for activation in ended.iter().filter(|it| !seen.contains(&it.activation_id)) {
            let (name, id) = (&activation.name, &activation.activation_id);
            printer.people(&format!("\nActivation: '{name}' ({id})\n"))?;
            let logs = inputs::json(&activation.logs)?;
            printer.json(&show::indented(logs.get()))?;
            printer.people("\n")?;
        }
        printer.end()?;
        seen = seen
            .into_iter()
            .chain(ended.into_iter().map(|it| it.activation_id))
            .collect();
        since = begin.max(asked.saturating_sub(OVERLAP));
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) || interrupts.wait(left.unwrap_or(PAUSE).min(PAUSE)) {
            return Ok(());
        }
    }
}

/// Returns the current time in the form that requests use.
fn since_epoch() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Returns how far back the poll begins.
fn before(args: &PollArgs) -> Duration {
    let seconds = [
        (args.since_seconds, 1),
        (args.since_minutes, 60),
        (args.since_hours, 60 * 60),
        (args.since_days, 24 * 60 * 60),
    ];
    let seconds = seconds.map(|(count, unit)| u64::from(count) * unit);
    Duration::from_secs(seconds.iter().sum())
}

//! `burst status` and `burst wait`.

use std::io::{self, IsTerminal};
use std::time::Duration;

use burst_client::{Answer, Client, Flare, WaitsFor};
use console::Term;

use crate::args::{Format, GlobalArgs, IdArgs, StatusArgs};
use crate::error::Error;
use crate::progress::Progress;
use crate::{failure, follow, ids, output};

/// Longest time between two looks at a flare that is watched, or waited for.
const PAUSE: Duration = Duration::from_millis(250);

/// Shows a flare and its workers, once or until it has ended.
pub fn status(client: &Client, args: &StatusArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, &args.flare)?;
    if args.watch {
        return watch(client, &id, format);
    }
    let answer = client.get_flare(&id)?;
    output::answer(format, &answer, || Ok(describe(&answer.read()?)))
}

/// Shows it anew whenever something has changed: on a terminal in the same place.
fn watch(client: &Client, id: &str, format: Format) -> Result<(), Error> {
    let mut shown: Option<String> = None;
    let on_terminal = io::stdout().is_terminal() && format == Format::Table;
    follow::watch(PAUSE, || {
        let answer = client.get_flare(id)?;
        let flare = answer.read()?;
        let text = match format {
            Format::Json => answer.text().to_owned(),
            Format::Table => describe(&flare),
        };
        if shown.as_ref() != Some(&text) {
            match shown.as_deref().map(|shown| shown.lines().count()) {
                Some(lines) if on_terminal => erase(lines)?,
                Some(_) if format == Format::Table => output::line("")?,
                _ => {}
            }
            output::answer(format, &answer, || Ok(text.clone()))?;
            shown = Some(text);
        }
        Ok(flare.state.is_final().then_some(()))
    })
}

/// What has scrolled out of a terminal stays.
fn erase(lines: usize) -> Result<(), Error> {
    let terminal = Term::stdout();
    let height = usize::from(terminal.size().0).saturating_sub(1);
    terminal.clear_last_lines(lines.min(height))?;
    Ok(())
}

/// Waits for a flare's end, shows it, and fails as it did.
pub fn wait(client: &Client, id: &IdArgs, global: &GlobalArgs) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let mut progress: Option<Progress> = None;
    let (answer, flare) = follow::watch(PAUSE, || {
        let answer = client.get_flare(&id)?;
        let flare = answer.read()?;
        if flare.state.is_final() {
            return Ok(Some((answer, flare)));
        }
        progress
            .get_or_insert_with(|| Progress::flare(&flare.name, flare.size.into(), global.verbose))
            .update(&flare);
        Ok(None)
    })?;
    drop(progress);
    ended(&answer, &flare, global.output)
}

/// Shows a flare that has ended, and fails as it did.
pub fn ended(answer: &Answer<Flare>, flare: &Flare, format: Format) -> Result<(), Error> {
    output::answer(format, answer, || Ok(describe(flare)))?;
    failure::of_flare(flare).map_or(Ok(()), Err)
}

/// A flare and its workers for people.
fn describe(flare: &Flare) -> String {
    let facts = output::pairs([
        ("flare", Some(flare.flare_id.clone())),
        (
            "definition",
            Some(format!("{} {}", flare.name, flare.version)),
        ),
        ("state", Some(flare.state.to_string())),
        (
            "queue",
            flare.queue.as_ref().map(|queue| {
                let start = match (queue.start, &queue.waits_for) {
                    (Some(at), _) => format!("expected to start at {}", output::time(at)),
                    (None, Some(WaitsFor::Turn)) => {
                        "starts when it is its turn on the group".into()
                    }
                    (None, Some(WaitsFor::Slots)) => {
                        "starts when groups end or busy invokers are idle again: nobody knows when"
                            .into()
                    }
                    (None, _) => "starts when enough invokers are up".into(),
                };
                format!("position {}, {start}", queue.position)
            }),
        ),
        (
            "attempt",
            (flare.attempt > 1).then(|| flare.attempt.to_string()),
        ),
        ("workers", Some(flare.size.to_string())),
        ("granularity", flare.granularity.map(|n| n.to_string())),
        ("packing", Some(flare.packing.to_string())),
        ("backend", Some(flare.backend.clone())),
        ("created", Some(output::time(flare.created))),
        ("started", flare.started.map(|at| after(flare, at))),
        ("ended", flare.ended.map(|at| after(flare, at))),
        ("error", flare.error.as_ref().map(failure::describe)),
    ]);
    if flare.workers.is_empty() {
        return facts;
    }
    format!("{facts}\n\n{}", workers(flare))
}

fn after(flare: &Flare, at: u64) -> String {
    format!(
        "{} (after {})",
        output::time(at),
        output::duration(flare.created, at)
    )
}

fn workers(flare: &Flare) -> String {
    let heads = [
        "WORKER", "PACK", "INVOKER", "START", "STATE", "DURATION", "ERROR",
    ];
    let mut table = output::table(heads);
    for worker in &flare.workers {
        let pack = flare
            .packs
            .iter()
            .find(|pack| Some(pack.pack) == worker.pack);
        let times = worker.started.zip(worker.ended);
        table.add_row([
            worker.worker.to_string(),
            output::or_dash(worker.pack),
            output::or_dash(pack.map(|pack| &pack.invoker)),
            output::or_dash(pack.and_then(|pack| pack.start.as_ref())),
            worker.state.to_string(),
            output::or_dash(times.map(|(start, end)| output::duration(start, end))),
            worker
                .error
                .as_ref()
                .map(failure::describe)
                .unwrap_or_default(),
        ]);
    }
    output::render(table)
}

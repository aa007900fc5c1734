//! `burst status` and `burst wait`.

use std::io::{self, IsTerminal};
use std::time::{Duration, SystemTime};

use burst_client::{Answer, Client, Flare, FlareState, Queue, WaitsFor};
use console::Term;

use crate::args::{Format, GlobalArgs, IdArgs, StatusArgs};
use crate::error::Error;
use crate::progress::Progress;
use crate::table::{self, Facts, Shown, Table};
use crate::{failure, follow, ids, output, times};

/// Longest time between two requests for a flare that is watched or waited for.
const PAUSE: Duration = Duration::from_millis(250);

/// Shows a flare and its workers, once or until it has ended.
pub fn status(client: &Client, args: &StatusArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, &args.flare)?;
    if args.watch {
        return watch(client, &id, format);
    }
    let answer = client.get_flare(&id)?;
    let mut read = None;
    output::answer(format, &answer, || {
        Ok(describe(read.insert(answer.read()?), SystemTime::now()))
    })?;
    if let Some(flare) = read {
        next(&flare);
    }
    Ok(())
}

/// Shows the flare again whenever something has changed; on a terminal, in the same place.
fn watch(client: &Client, id: &str, format: Format) -> Result<(), Error> {
    let mut last: Option<String> = None;
    let on_terminal = io::stdout().is_terminal() && format == Format::Table;
    follow::watch(PAUSE, || {
        let answer = client.get_flare(id)?;
        let flare = answer.read()?;
        let shown = describe(&flare, SystemTime::now());
        // The time left until its start counts as a change only where the flare is redrawn in the
        // same place.
        let state = if on_terminal {
            shown.text().to_owned()
        } else {
            describe(&flare, SystemTime::UNIX_EPOCH).text().to_owned()
        };
        if last.as_ref() != Some(&state) {
            match last.as_deref().map(|last| last.lines().count()) {
                Some(lines) if on_terminal => erase(lines)?,
                Some(_) if format == Format::Table => output::line("")?,
                _ => {}
            }
            last = Some(state);
            output::answer(format, &answer, || Ok(shown))?;
        }
        Ok(flare.state.is_final().then_some(()))
    })
}

/// Erases the last lines of the terminal; lines that have scrolled out of it stay.
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
    let printed = output::answer(format, answer, || Ok(describe(flare, SystemTime::now())));
    match failure::of_flare(flare) {
        // This error itself says where to look. The exit code tells of it even if nobody reads the output.
        Some(failed) => Err(failed),
        None => {
            printed?;
            next(flare);
            Ok(())
        }
    }
}

fn next(flare: &Flare) {
    let id = ids::short(&flare.flare_id);
    match flare.state {
        FlareState::Succeeded => output::next(&[
            &format!("`burst result {id}`"),
            &format!("`burst timeline {id}`"),
        ]),
        ref state if state.is_final() => output::next(&[&format!("`burst logs {id}`")]),
        _ => output::next(&[
            &format!("`burst wait {id}`"),
            &format!("`burst logs {id} --follow`"),
        ]),
    }
}

/// Describes a flare and its workers for people, as of the time `now`.
fn describe(flare: &Flare, now: SystemTime) -> Shown {
    let facts = Facts::new()
        .with("flare", flare.flare_id.as_str())
        .with("definition", format!("{} {}", flare.name, flare.version))
        .with("state", table::state(flare.state.as_str()))
        .with_some("queue", flare.queue.as_ref().map(|it| queue(it, now)))
        .with_some("attempt", (flare.attempt > 1).then_some(flare.attempt))
        .with("workers", flare.size)
        .with_some("granularity", flare.granularity)
        .with("packing", flare.packing.as_str())
        .with("backend", flare.backend.as_str())
        .with("created", times::exact(flare.created))
        .with_some("started", flare.started.map(|at| after(flare, at)))
        .with_some("ended", flare.ended.map(|at| after(flare, at)))
        .with_some("error", flare.error.as_ref().map(failure::describe))
        .shown();
    if flare.workers.is_empty() {
        return facts;
    }
    facts.above(workers(flare))
}

fn queue(queue: &Queue, now: SystemTime) -> String {
    let start = match (queue.start, &queue.waits_for) {
        (Some(at), _) => format!(
            "expected to start at {}, {}",
            times::of_day(at),
            times::until(now, at)
        ),
        (None, Some(WaitsFor::Turn)) => "starts when it is its turn on the group".into(),
        (None, Some(WaitsFor::Slots)) => {
            "starts when groups end or busy invokers are idle again: nobody knows when".into()
        }
        (None, _) => "starts when enough invokers are up".into(),
    };
    let why = queue.reason.as_deref();
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("position {}, {start}{why}", queue.position)
}

fn after(flare: &Flare, at: SystemTime) -> String {
    format!(
        "{} (after {})",
        times::exact(at),
        times::duration(times::between(flare.created, at))
    )
}

fn workers(flare: &Flare) -> Table {
    let heads = [
        "WORKER", "PACK", "INVOKER", "START", "STATE", "DURATION", "ERROR",
    ];
    let mut table = Table::new(heads);
    for worker in &flare.workers {
        let pack = flare
            .packs
            .iter()
            .find(|pack| Some(pack.pack) == worker.pack);
        let times = worker.started.zip(worker.ended);
        let lasted = times.map(|(start, end)| times::duration(times::between(start, end)));
        table.row([
            worker.worker.into(),
            worker.pack.into(),
            pack.map(|pack| &pack.invoker).into(),
            pack.and_then(|pack| pack.start.as_ref()).into(),
            table::state(worker.state.as_str()),
            lasted.into(),
            worker
                .error
                .as_ref()
                .map(failure::describe)
                .unwrap_or_default()
                .into(),
        ]);
    }
    table
}

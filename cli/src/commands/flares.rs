//! `burst flares`, `status`, `logs`, `result` and `cancel`.

use burst_client::{Client, Flare, FlareState, GetLogsQuery, ListFlaresQuery, WaitsFor};

use crate::args::{FlaresArgs, Format, IdArgs, LogsArgs};
use crate::commands::result;
use crate::error::Error;
use crate::failure;
use crate::output::{self, Printer};

/// Lists flares, newest first.
pub fn list(client: &Client, args: &FlaresArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_flares(&ListFlaresQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
        state: args.state.as_deref().map(FlareState::from),
    })?;
    output::answer(format, &answer, || {
        let heads = [
            "FLARE", "NAME", "VERSION", "STATE", "SIZE", "CREATED", "DURATION",
        ];
        let mut table = output::table(heads);
        for flare in answer.read()? {
            table.add_row([
                flare.flare_id,
                flare.name,
                flare.version,
                flare.state.to_string(),
                flare.size.to_string(),
                output::time(flare.created),
                output::or_dash(flare.ended.map(|end| output::duration(flare.created, end))),
            ]);
        }
        Ok(output::render(table))
    })
}

/// Shows a flare and its workers.
pub fn status(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let answer = client.get_flare(&resolve(client, id)?)?;
    output::answer(format, &answer, || Ok(describe(&answer.read()?)))
}

/// Prints what the workers wrote.
pub fn logs(client: &Client, args: &LogsArgs, format: Format) -> Result<(), Error> {
    let id = resolve(client, &args.flare)?;
    let query = GetLogsQuery {
        worker: args.worker,
    };
    let body = client.get_logs(&id, &query)?;
    let mut printer = Printer::new();
    if format == Format::Json {
        printer.body(body)?;
        return printer.end();
    }
    let logs = body.each(|line| {
        let who = match line.worker {
            Some(worker) => format!("worker {worker}"),
            None => format!("pack {}", line.pack),
        };
        let at = output::time(line.at);
        printer.people(&format!("{at} {who} {}: ", line.stream))?;
        printer.program(&line.line)?;
        printer.people("\n")
    })?;
    if logs.truncated {
        printer.people("(more was written than is kept)\n")?;
    }
    printer.end()
}

/// Prints the outputs, and fails as the flare did.
pub fn result(client: &Client, id: &IdArgs) -> Result<(), Error> {
    result::print(client, &resolve(client, id)?)
}

/// Asks the platform to stop a flare.
pub fn cancel(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = resolve(client, id)?;
    let answer = client.cancel_flare(&id)?;
    output::answer(format, &answer, || Ok(format!("ok: cancelling flare {id}")))
}

/// The id given, or that of the newest flare.
pub fn resolve(client: &Client, args: &IdArgs) -> Result<String, Error> {
    if let Some(id) = &args.id {
        return Ok(id.clone());
    }
    let newest = client.list_flares(&ListFlaresQuery {
        limit: Some(1),
        ..ListFlaresQuery::default()
    })?;
    match newest.read()?.into_iter().next() {
        Some(flare) => Ok(flare.flare_id),
        None => Err(Error::NotFound("there is no flare yet".into())),
    }
}

/// A flare and its workers for people.
pub fn describe(flare: &Flare) -> String {
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

//! `activation`.

use std::time::{Duration, UNIX_EPOCH};

use burst_client::{ActivationSummary, ListActivationsQuery};
use serde_json::value::RawValue;

use super::client_context::{ClientContext, parsed, unable};
use super::{fields, lists, name, poll, show};
use crate::args::wsk::activation::{
    ActivationArgs, ActivationGetArgs, ActivationLogsArgs, ActivationVerb, ActivationsArgs,
};
use crate::error::Error;
use crate::output::{self, Printer};
use crate::times;

/// The operation as errors of lists name it.
const LISTING: &str = "obtain the list of activations";

/// Runs an `activation` command.
pub fn run(verb: &ActivationVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        ActivationVerb::List(args) => list(context, args),
        ActivationVerb::Get(args) => get(context, args),
        ActivationVerb::Logs(args) => logs(context, args),
        ActivationVerb::Result(args) => {
            let id = id(context, args)?;
            let what = format!("get result for activation '{id}'");
            let answer = context.client().get_activation_result(&id);
            show::json(parsed(answer, &what)?.result.get())
        }
        ActivationVerb::Poll(args) => poll::run(context, args),
    }
}

fn list(context: &ClientContext, args: &ActivationsArgs) -> Result<(), Error> {
    let time = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    let query = ListActivationsQuery {
        limit: Some(args.limit),
        skip: Some(args.skip),
        name: name::of_activations(args.name.as_deref())?,
        since: args.since.map(time),
        upto: args.upto.map(time),
        docs: Some(args.full),
        ..ListActivationsQuery::default()
    };
    if args.full {
        let listed: Vec<Box<RawValue>> = lists::activations(context, &query, LISTING)?;
        output::line("activations")?;
        return listed.iter().try_for_each(|one| show::json(one.get()));
    }
    let head = row([
        "Datetime",
        "Activation ID",
        "Kind",
        "Start",
        "Duration",
        "Status",
        "Entity",
    ]);
    let listed: Vec<ActivationSummary> = lists::activations(context, &query, LISTING)?;
    let lines: Vec<String> = std::iter::once(head)
        .chain(listed.iter().map(line))
        .collect();
    output::line(&lines.join("\n"))
}

fn line(activation: &ActivationSummary) -> String {
    let ActivationSummary {
        namespace,
        name,
        version,
        annotations,
        ..
    } = activation;
    let kind = fields::text(annotations, "kind");
    let was_started = fields::find(annotations, "initTime").is_some();
    let duration = activation.duration.map_or_else(|| "--".into(), time);
    row([
        &times::second(activation.start),
        &activation.activation_id,
        kind.as_deref().unwrap_or("unknown"),
        if was_started { "cold" } else { "warm" },
        &duration,
        match activation.status_code {
            0 => "success",
            1 => "application error",
            2 => "developer error",
            _ => "internal error",
        },
        &format!("{namespace}/{name}:{version}"),
    ])
}

fn row(cells: [&str; 7]) -> String {
    let [time, id, kind, start, duration, status, entity] = cells;
    format!("{time:<19} {id:<32} {kind:<13} {start:<5} {duration:<10} {status:<17} {entity}")
}

/// Formats a duration with a unit that fits.
fn time(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{}s", time.as_millis() as f64 / 1000.0),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

/// Returns the given id, or that of the newest activation.
fn id(context: &ClientContext, args: &ActivationArgs) -> Result<String, Error> {
    match &args.id {
        Some(id) => Ok(id.clone()),
        None => newest(context),
    }
}

fn newest(context: &ClientContext) -> Result<String, Error> {
    let query = ListActivationsQuery {
        limit: Some(1),
        ..ListActivationsQuery::default()
    };
    let listed: Vec<ActivationSummary> = lists::activations(context, &query, LISTING)?;
    let newest = listed.into_iter().next();
    newest
        .map(|activation| activation.activation_id)
        .ok_or_else(|| Error::NotFound("there is no activation yet".into()))
}

fn get(context: &ClientContext, args: &ActivationGetArgs) -> Result<(), Error> {
    // With --last the first word is the field.
    let (id, field) = match (&args.id, args.last) {
        (Some(id), false) => (id.clone(), args.field.as_deref()),
        (field, _) if args.field.is_none() => (newest(context)?, field.as_deref()),
        _ => {
            return Err(Error::Usage(
                "--last is in place of the activation's id: name at most a field".into(),
            ));
        }
    };
    let what = format!("get activation '{id}'");
    let answer = context.client().get_activation(&id);
    let answer = answer.map_err(unable(&what))?;
    if !args.summary && !args.logs {
        return show::entity(&format!("activation {id}"), answer.text(), field);
    }
    let record = answer.read().map_err(unable(&what))?;
    if !args.summary {
        return print_lines(&record.logs, true);
    }
    output::line(&format!(
        "activation result for '/{}/{}' ({} at {})",
        record.namespace,
        record.name,
        record.response.status,
        times::zoned(record.end.unwrap_or(UNIX_EPOCH))
    ))?;
    show::json(record.response.result.get())
}

fn logs(context: &ClientContext, args: &ActivationLogsArgs) -> Result<(), Error> {
    let id = id(context, &args.activation)?;
    let what = format!("get logs for activation '{id}'");
    let logs = parsed(context.client().get_activation_logs(&id), &what)?.logs;
    print_lines(&logs, args.strip)
}

fn print_lines(lines: &[String], strip: bool) -> Result<(), Error> {
    let mut printer = Printer::new();
    for line in lines {
        let line = if strip { stripped(line) } else { line };
        printer.program(line)?;
        printer.people("\n")?;
    }
    printer.end()
}

/// Removes the time and the stream before a line; returns a line without them unchanged.
pub fn stripped(line: &str) -> &str {
    let Some((time, rest)) = line.split_once(' ') else {
        return line;
    };
    let rest = rest.trim_start();
    let text = rest
        .strip_prefix("stdout:")
        .or_else(|| rest.strip_prefix("stderr:"));
    match text {
        Some(text) if time.ends_with('Z') => text.strip_prefix(' ').unwrap_or(text),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_stripped_of_their_prefix() {
        for (line, bare) in [
            ("2026-01-02T03:04:05.678901234Z stdout: hello", "hello"),
            ("2026-01-02T03:04:05.6Z         stderr:  two", " two"),
            ("2026-01-02T03:04:05.6Z stdout:", ""),
            ("no time stdout: x", "no time stdout: x"),
            ("", ""),
        ] {
            assert_eq!(stripped(line), bare);
        }
    }

    #[test]
    fn durations_have_a_unit() {
        let shown = [0, 999, 1118, 61_000].map(|millis| time(Duration::from_millis(millis)));
        assert_eq!(shown, ["0ms", "999ms", "1.118s", "1m1s"]);
    }
}

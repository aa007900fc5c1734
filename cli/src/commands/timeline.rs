//! `burst timeline`: what each worker did when, as numbers and as bars.

use burst_client::{Client, Phase, Timeline, WorkerPhases};
use comfy_table::{CellAlignment, Table};

use crate::args::{Format, IdArgs};
use crate::error::Error;
use crate::{ids, output, table, times};

/// How phases look in a bar, in the order in which they are first met; then again from the second.
const MARKS: [char; 8] = ['.', '-', '#', '=', '+', '*', 'o', '%'];
/// Width where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 80;
const NARROWEST_BAR: usize = 10;
const WIDEST_BAR: usize = 80;

/// Shows a flare's timeline.
pub fn run(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let answer = client.get_timeline(&id)?;
    output::answer(format, &answer, || {
        let width = table::width().map_or(DEFAULT_WIDTH, usize::from);
        Ok(render(&answer.read()?, width).into())
    })?;
    output::next(&format!("`burst logs {}`", ids::short(&id)));
    Ok(())
}

fn render(timeline: &Timeline, width: usize) -> String {
    let names = names(timeline);
    let (first, last) = span(timeline);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let heads = ["WORKER".into(), "PACK".into()]
        .into_iter()
        .chain(names.iter().map(|name| format!("{name} ms")))
        .chain(["TOTAL ms".into()]);
    table.set_header(heads);
    for worker in &timeline.workers {
        table.add_row(numbers(worker, &names, first, last));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((0, 2));
    }
    let numbers = table.trim_fmt();
    let taken = numbers
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or_default();
    let room = width
        .saturating_sub(taken + 4)
        .clamp(NARROWEST_BAR, WIDEST_BAR);
    let mut lines = numbers.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, worker) in lines.zip(&timeline.workers) {
        text += &format!(
            "{line:<taken$}  |{}|\n",
            bar(worker, &names, first, last, room)
        );
    }
    let legend: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, name)| format!("{} {name}", mark(at)))
        .collect();
    format!(
        "{text}\n{}; whole width {}",
        legend.join(", "),
        times::duration(first, last)
    )
}

/// The names of all phases, as they are first met.
fn names(timeline: &Timeline) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for phase in timeline.workers.iter().flat_map(|worker| &worker.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names
}

/// From the request to the last thing known to have happened: where a phase still lasts, to the present.
fn span(timeline: &Timeline) -> (u64, u64) {
    let phases = || timeline.workers.iter().flat_map(|worker| &worker.phases);
    let first = phases()
        .map(|phase| phase.start)
        .min()
        .unwrap_or(timeline.created);
    let last = phases()
        .map(|phase| phase.end.unwrap_or(phase.start.max(timeline.now)))
        .max();
    let first = first.min(timeline.created);
    (first, last.unwrap_or(first).max(first))
}

/// Phases that still last are drawn up to the present.
fn end(phase: &Phase, last: u64) -> u64 {
    phase.end.unwrap_or(last)
}

fn numbers(worker: &WorkerPhases, names: &[&str], first: u64, last: u64) -> Vec<String> {
    let mut row = vec![
        worker.worker.to_string(),
        worker
            .pack
            .map_or_else(|| "-".into(), |pack| pack.to_string()),
    ];
    for name in names {
        let phases = worker.phases.iter().filter(|phase| phase.name == *name);
        let lengths: Vec<u64> = phases
            .map(|phase| end(phase, last).saturating_sub(phase.start))
            .collect();
        row.push(if lengths.is_empty() {
            "-".into()
        } else {
            times::milliseconds(0, lengths.iter().sum())
        });
    }
    let total = worker.phases.iter().map(|phase| end(phase, last)).max();
    row.push(total.map_or_else(|| "-".into(), |total| times::milliseconds(first, total)));
    row
}

/// Each column shows the phase that lasted in the middle of its time; a phase too short for any
/// column is in the numbers only.
fn bar(worker: &WorkerPhases, names: &[&str], first: u64, last: u64, width: usize) -> String {
    let step = last.saturating_sub(first) as f64 / width as f64;
    (0..width)
        .map(|column| {
            let time = first as f64 + (column as f64 + 0.5) * step;
            let phase = worker
                .phases
                .iter()
                .rfind(|phase| phase.start as f64 <= time && time < end(phase, last) as f64);
            phase
                .and_then(|phase| names.iter().position(|name| *name == phase.name))
                .map_or(' ', mark)
        })
        .collect()
}

fn mark(position: usize) -> char {
    let repeated = MARKS.len() - 1;
    if position == 0 {
        MARKS[0]
    } else {
        MARKS[1 + (position - 1) % repeated]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_bars_and_legend_fit_the_width() {
        let timeline: Timeline = serde_json::from_str(
            r#"{"flareId":"f","created":1000,"now":8500,"workers":[
                {"worker":0,"pack":0,"phases":[{"name":"invocation","start":1000,"end":3000},
                    {"name":"start","start":3000,"end":6000},{"name":"read","start":6000,"end":11000}]},
                {"worker":1,"pack":1,"phases":[{"name":"invocation","start":1000,"end":3000},
                    {"name":"start","start":3000,"end":8000},{"name":"read","start":8000}]}]}"#,
        )
        .unwrap();
        assert_eq!(
            render(&timeline, 58),
            "WORKER  PACK  invocation ms  start ms  read ms  TOTAL ms\n\
             \u{20}    0     0            2.0       3.0      5.0      10.0  |..---#####|\n\
             \u{20}    1     1            2.0       5.0      3.0      10.0  |..-----###|\n\
             \n. invocation, - start, # read; whole width 10.0 ms"
        );
        let widest = |width| {
            render(&timeline, width)
                .lines()
                .map(|line| line.len())
                .max()
                .unwrap()
        };
        assert_eq!(widest(100), 100);
    }

    #[test]
    fn what_still_lasts_has_lasted_until_now() {
        let timeline: Timeline = serde_json::from_str(
            r#"{"flareId":"f","created":1000,"now":4003000,"workers":[
                {"worker":0,"pack":0,"phases":[{"name":"invocation","start":1000,"end":2000},
                    {"name":"work","start":3000,"end":null}]}]}"#,
        )
        .unwrap();
        let text = render(&timeline, 80);
        let row = text.lines().nth(1).unwrap();
        assert!(row.contains("  4000.0 "), "{text}");
        assert!(text.ends_with("whole width 4.0 s"), "{text}");
    }

    #[test]
    fn a_flare_without_workers_yet_is_no_trouble() {
        let timeline = Timeline {
            flare_id: "f".into(),
            created: 5,
            now: 5,
            workers: vec![],
        };
        assert!(render(&timeline, 80).starts_with("WORKER"));
    }
}

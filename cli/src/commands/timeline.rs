//! `burst timeline`: what each worker did when, as numbers and as bars.

use std::time::{Duration, SystemTime};

use burst_client::{Client, Phase, Timeline, WorkerPhases};

use crate::args::{Format, IdArgs};
use crate::error::Error;
use crate::{ids, output, table, times};

/// The marks of phases in a bar, in the order in which phases first appear; further phases start again from the second
/// mark.
const MARKS: [char; 8] = ['.', '-', '#', '=', '+', '*', 'o', '%'];
/// Width if standard output is not a terminal.
const DEFAULT_WIDTH: usize = 80;
const NARROWEST_BAR: usize = 10;
const WIDEST_BAR: usize = 80;
/// Columns that the frame around a bar takes.
const FRAME: usize = 4;

/// Shows a flare's timeline.
pub fn run(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let answer = client.get_timeline(&id)?;
    output::answer(format, &answer, || {
        let width = table::width().map_or(DEFAULT_WIDTH, usize::from);
        Ok(render(&answer.read()?, width).into())
    })?;
    output::next(&[&format!("`burst logs {}`", ids::short(&id))]);
    Ok(())
}

/// Renders numbers and bars within the width. If the numbers leave no room for a bar, their columns are left out, those
/// of the shortest phases first.
fn render(timeline: &Timeline, width: usize) -> String {
    let names = names(timeline);
    let span = Span::of(timeline);
    let Span { first, last } = span;
    let mut columns = vec![
        Column::new("WORKER", timeline, |it| it.worker.to_string()),
        Column::new("PACK", timeline, |it| or_dash(it.pack)),
    ];
    columns.extend(names.iter().map(|name| {
        Column::new(name, timeline, |it| {
            or_dash(time_in(it, name, last).map(times::milliseconds))
        })
    }));
    columns.push(Column::new("TOTAL", timeline, |it| {
        let total = it.phases.iter().map(|phase| end(phase, last)).max();
        or_dash(total.map(|total| times::milliseconds(times::between(first, total))))
    }));
    let mut shortest = names.clone();
    shortest.sort_by_cached_key(|name| {
        let times = timeline
            .workers
            .iter()
            .filter_map(|it| time_in(it, name, last));
        times.sum::<Duration>()
    });
    let mut without = Vec::new();
    for name in shortest {
        if taken(&columns) + FRAME + NARROWEST_BAR <= width {
            break;
        }
        columns.retain(|column| column.head != name);
        without.push(name);
    }
    let room = width
        .saturating_sub(taken(&columns) + FRAME)
        .clamp(NARROWEST_BAR, WIDEST_BAR);
    let line = |cell: &dyn Fn(&Column<'_>) -> String| {
        let cells = columns.iter();
        let cells = cells.map(|column| format!("{:>1$}", cell(column), column.width));
        cells.collect::<Vec<_>>().join("  ")
    };
    let mut text = line(&|column| column.head.to_owned()) + "\n";
    for (row, worker) in timeline.workers.iter().enumerate() {
        text += &format!(
            "{}  |{}|\n",
            line(&|column| column.cells[row].clone()),
            bar(worker, &names, span, room)
        );
    }
    let mut legend = vec!["in ms".to_owned()];
    legend.extend(names.iter().enumerate().map(|(at, name)| {
        let note = if without.contains(name) {
            " (no column)"
        } else {
            ""
        };
        format!("{} {name}{note}", mark(at))
    }));
    legend.push(format!(
        "whole width {}",
        times::duration(times::between(first, last))
    ));
    format!("{text}\n{}", in_lines(&legend, width))
}

/// A column of numbers of one kind, one per worker.
struct Column<'a> {
    head: &'a str,
    cells: Vec<String>,
    width: usize,
}

impl<'a> Column<'a> {
    fn new(head: &'a str, timeline: &Timeline, cell: impl Fn(&WorkerPhases) -> String) -> Self {
        let cells: Vec<String> = timeline.workers.iter().map(cell).collect();
        let lengths = cells.iter().map(String::as_str).chain([head]);
        let width = lengths.map(|it| it.chars().count()).max();
        Self {
            head,
            cells,
            width: width.unwrap_or_default(),
        }
    }
}

/// Returns the width of all columns together, with the gaps between them.
fn taken(columns: &[Column<'_>]) -> usize {
    let widths: usize = columns.iter().map(|column| column.width).sum();
    widths + 2 * columns.len().saturating_sub(1)
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

/// Joins the parts with commas, as many to a line as the width allows.
fn in_lines(parts: &[String], width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (at, part) in parts.iter().enumerate() {
        let comma = if at + 1 < parts.len() { "," } else { "" };
        let length = part.chars().count() + comma.len();
        if at > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        } else if at > 0 {
            text.push(' ');
            used += 1;
        }
        text += part;
        text += comma;
        used += length;
    }
    text
}

/// Returns the names of all phases, in the order in which they first appear.
fn names(timeline: &Timeline) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for phase in timeline.workers.iter().flat_map(|worker| &worker.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names
}

/// The time from the request to the last known event; to the present, if a phase is still running.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: SystemTime,
    last: SystemTime,
}

impl Span {
    fn of(timeline: &Timeline) -> Self {
        let phases = || timeline.workers.iter().flat_map(|worker| &worker.phases);
        let first = phases()
            .map(|phase| phase.start)
            .min()
            .unwrap_or(timeline.created);
        let last = phases()
            .map(|phase| phase.end.unwrap_or(phase.start.max(timeline.now)))
            .max();
        let first = first.min(timeline.created);
        let last = last.unwrap_or(first).max(first);
        Self { first, last }
    }
}

/// Returns the end of a phase; `last`, the present, if it is still running.
fn end(phase: &Phase, last: SystemTime) -> SystemTime {
    phase.end.unwrap_or(last)
}

/// Returns how long a worker was in the phases of this name; `None` if it was in none.
fn time_in(worker: &WorkerPhases, name: &str, last: SystemTime) -> Option<Duration> {
    let phases = worker.phases.iter().filter(|phase| phase.name == name);
    phases
        .map(|phase| times::between(phase.start, end(phase, last)))
        .reduce(|sum, time| sum + time)
}

/// Draws a bar. Each column shows the phase in the middle of its time; a phase too short for any column appears only in
/// the numbers.
fn bar(worker: &WorkerPhases, names: &[&str], span: Span, width: usize) -> String {
    let Span { first, last } = span;
    let step = times::between(first, last).div_f64(width as f64);
    (0..width)
        .map(|column| {
            let time = first + step.mul_f64(column as f64 + 0.5);
            let phase = worker
                .phases
                .iter()
                .rfind(|phase| phase.start <= time && time < end(phase, last));
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
            "WORKER  PACK  invocation  start  read  TOTAL\n\
             \u{20}    0     0         2.0    3.0   5.0   10.0  |..---#####|\n\
             \u{20}    1     1         2.0    5.0   3.0   10.0  |..-----###|\n\
             \nin ms, . invocation, - start, # read, whole width 10.0 ms"
        );
        let widest = |width| {
            render(&timeline, width)
                .lines()
                .map(|line| line.len())
                .max()
                .unwrap()
        };
        assert_eq!(widest(100), 100);
        assert_eq!(
            render(&timeline, 52),
            "WORKER  PACK  start  read  TOTAL\n\
             \u{20}    0     0    3.0   5.0   10.0  |...-----########|\n\
             \u{20}    1     1    5.0   3.0   10.0  |...--------#####|\n\
             \nin ms, . invocation (no column), - start, # read,\n\
             whole width 10.0 ms"
        );
        for width in 34..120 {
            assert!(widest(width) <= width, "{width}: {}", widest(width));
        }
    }

    #[test]
    fn an_unfinished_phase_lasts_until_now() {
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
    fn a_flare_without_workers_is_rendered() {
        let timeline = Timeline {
            flare_id: "f".into(),
            created: SystemTime::UNIX_EPOCH,
            now: SystemTime::UNIX_EPOCH,
            workers: vec![],
        };
        assert!(render(&timeline, 80).starts_with("WORKER"));
    }
}

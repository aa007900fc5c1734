//! Runs the load on two releases in turns, because a shared machine can be twice as fast in one minute as in
//! another.

use std::path::Path;

use burst_tests::load::assert_all_slots_are_free;
use comfy_table::{Table, presets};

use crate::{Options, Part, part, start};

/// The number of turns of each release.
const TURNS: usize = 10;

/// A figure of both releases, as the medians over their turns. The ratio is the median of the ratios of consecutive
/// turns.
#[derive(Debug, serde::Serialize)]
pub struct Row {
    figure: &'static str,
    unit: &'static str,
    reference: f64,
    ours: f64,
    ratio: f64,
    least: f64,
    most: f64,
}

/// Runs the load on the reference distribution and on this one.
pub fn measure(options: &Options, reference: &Path) -> Vec<Row> {
    assert!(
        options.flares >= TURNS,
        "each turn has flares: {TURNS} at least"
    );
    let clusters = [start(Some(reference.to_owned())), start(None)];
    let apis = clusters.each_ref().map(|cluster| cluster.apis());
    let run =
        |which: usize, numbers| part(&clusters[which], &apis[which], options.clients, numbers);
    for which in [0, 1] {
        run(which, 0..options.warm_up);
    }
    let share = options.flares / TURNS;
    let turns = (0..TURNS).map(|turn| {
        let first = options.warm_up + turn * share;
        let run = |which| run(which, first..first + share);
        // The order alternates, so that a machine that steadily gets slower or faster favours neither release.
        match turn % 2 {
            0 => [0, 1].map(run),
            _ => {
                let ours = run(1);
                [run(0), ours]
            }
        }
    });
    let turns: Vec<[Part; 2]> = turns.collect();
    clusters.iter().for_each(assert_all_slots_are_free);
    let row = |figure, unit, of: &dyn Fn(&Part) -> f64| {
        let all = |which: usize| turns.iter().map(move |turn| of(&turn[which]));
        let ratios = sorted(
            turns
                .iter()
                .map(|[reference, ours]| of(ours) / of(reference)),
        );
        Row {
            figure,
            unit,
            reference: median(&sorted(all(0))),
            ours: median(&sorted(all(1))),
            ratio: median(&ratios),
            least: ratios[0],
            most: ratios[TURNS - 1],
        }
    };
    vec![
        row("throughput", "flares/s", &Part::pace),
        row("machine, processor time of a flare", "ms", &|part| {
            part.processor_time(0)
        }),
        row("nodes, processor time of a flare", "ms", &|part| {
            (1..part.processors.len())
                .map(|node| part.processor_time(node))
                .sum()
        }),
    ]
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    (sorted[(sorted.len() - 1) / 2] + sorted[middle]) / 2.0
}

/// Formats the rows as a table.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["figure", "unit", "reference", "ours", "ratio", "of a turn"]);
    for row in rows {
        table.add_row([
            row.figure.to_owned(),
            row.unit.to_owned(),
            format!("{:.1}", row.reference),
            format!("{:.1}", row.ours),
            format!("{:.2}", row.ratio),
            format!("{:.2} to {:.2}", row.least, row.most),
        ]);
    }
    table
}

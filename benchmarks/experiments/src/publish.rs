//! Writes CSV files, pictures and the page.

use crate::findings::{Claim, Figure, Findings, median};
use crate::peers::Peers;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The suffix of the files that record which goals were met.
const GOALS: &str = "-goals.csv";

/// Writes an experiment's CSV files, draws its picture, and writes its part of the page.
pub fn publish(findings: &Findings, took: Duration, results: &Path, peers: &Peers) {
    std::fs::create_dir_all(results).unwrap();
    let path = |suffix: &str| results.join(format!("{}{suffix}", findings.name));
    write(&path(".csv"), &findings.figures);
    write(&path(GOALS), &findings.claims);
    if !findings.spans.is_empty() {
        write(&path("-timeline.csv"), &findings.spans);
    }
    peers.make("plot.py", &[&results, &findings.name]);
    std::fs::write(path(".md"), part(findings, took)).unwrap();
}

/// Combines the existing parts into the page, in this order, no matter which runs they are from.
pub fn page(names: &[String], results: &Path) {
    let path = |name: &str, suffix| results.join(format!("{name}{suffix}"));
    let mut page = "# Experiments\n\nWritten by `make experiments`: the published experiments, on one machine, and what one \
                    would use instead. Every result was checked before its time was kept; figures are medians of the runs. \
                    Each part is of the last run of its experiment.\n\n"
        .to_owned();
    let goals = names.iter().map(|name| path(name, GOALS));
    let goals: Vec<Claim> = goals.filter(|path| path.exists()).flat_map(read).collect();
    let (met, missed): (Vec<_>, Vec<_>) = goals.into_iter().partition(|claim| claim.met);
    let all = met.len() + missed.len();
    writeln!(page, "{} of {all} goals are met. Missed:\n", met.len()).unwrap();
    for claim in &missed {
        let Claim {
            experiment,
            what,
            ours,
            goal,
            why,
            ..
        } = claim;
        writeln!(page, "- {experiment}: {what} {ours} (goal: {goal}). {why}").unwrap();
    }
    page += "\n";
    let parts = names.iter().map(|name| path(name, ".md"));
    page.extend(parts.filter_map(|part| std::fs::read_to_string(part).ok()));
    page += &collectives(&results.join("../bcm.csv"));
    std::fs::write(results.join("README.md"), page).unwrap();
}

/// Returns the part with the results of `make bench` for collectives, compared with Open MPI.
fn collectives(figures: &Path) -> String {
    let mut part = "## Collectives beside Open MPI\n\nFrom [the benchmarks of the messages](../bcm.csv) (`make bench`): 8 \
                    workers in one pack against 8 ranks over shared memory, medians.\n\n\
                    | | burst, µs | Open MPI, µs | ratio |\n| --- | ---: | ---: | ---: |\n"
        .to_owned();
    let rows: Vec<Measured> = match figures.exists() {
        true => read(figures.to_owned()),
        false => Vec::new(),
    };
    let chosen = rows.iter().filter(|row| {
        row.reference.starts_with("Open MPI")
            && row.what.ends_with(" 8 workers")
            && [" 8 B,", " 1048576 B,", " 67108864 B,"]
                .iter()
                .any(|size| row.what.contains(size))
    });
    for row in chosen {
        let what = row.what.trim_start_matches("local ");
        let what = what.trim_end_matches(", 8 workers");
        let Some(theirs) = row.reference_median else {
            continue;
        };
        let ratio = row.median / theirs;
        let (ours, theirs) = (digits(row.median), digits(theirs));
        writeln!(part, "| {what} | {ours} | {theirs} | {ratio:.4} |").unwrap();
    }
    part
}

/// A row of the benchmarks' figures.
#[derive(Deserialize)]
struct Measured {
    what: String,
    median: f64,
    reference: String,
    reference_median: Option<f64>,
}

fn write(path: &Path, rows: &[impl Serialize]) {
    let mut writer = csv::Writer::from_path(path).unwrap();
    rows.iter().for_each(|row| writer.serialize(row).unwrap());
    writer.flush().unwrap();
}

fn read<T: DeserializeOwned>(path: PathBuf) -> Vec<T> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn part(findings: &Findings, took: Duration) -> String {
    let mut part = format!("## {}\n\n{}\n\n", findings.title, findings.notes);
    let (size, took) = (&findings.size, took.as_secs());
    writeln!(part, "Size: {size}; the experiment took {took} s.\n").unwrap();
    if !findings.claims.is_empty() {
        part += "| what | here | the paper | goal | met |\n| --- | --- | --- | --- | --- |\n";
        for claim in &findings.claims {
            let Claim {
                what,
                ours,
                paper,
                goal,
                met,
                ..
            } = claim;
            let met = if *met { "yes" } else { "**no**" };
            writeln!(part, "| {what} | {ours} | {paper} | {goal} | {met} |").unwrap();
        }
        part += "\n";
    }
    let name = &findings.name;
    writeln!(part, "![{name}]({name}.png)\n").unwrap();
    part += &table(&findings.figures);
    if !findings.paper.is_empty() {
        part += "In the paper:\n\n";
        part += &table(&findings.paper);
    }
    part
}

/// Formats a table with a row for each system and setting, and a column for each figure.
fn table(figures: &[Figure]) -> String {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for figure in figures {
        let (column, row) = (
            (&*figure.figure, figure.unit),
            (&*figure.system, &*figure.setting),
        );
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut table = "| | |".to_owned();
    columns
        .iter()
        .for_each(|(name, unit)| write!(table, " {name}, {unit} |").unwrap());
    write!(table, "\n| --- | --- |{}", " ---: |".repeat(columns.len())).unwrap();
    for (system, setting) in rows {
        write!(table, "\n| {system} | {setting} |").unwrap();
        for &(name, _) in &columns {
            let runs = figures.iter().filter(|figure| {
                (&*figure.system, &*figure.setting, &*figure.figure) == (system, setting, name)
            });
            let runs: Vec<f64> = runs.map(|figure| figure.value).collect();
            match runs.is_empty() {
                true => table += " |",
                false => write!(table, " {} |", digits(median(runs))).unwrap(),
            }
        }
    }
    table + "\n\n"
}

/// Formats a value with three significant digits.
fn digits(value: f64) -> String {
    let before = value.abs().log10().floor();
    let after = if value == 0.0 {
        0.0
    } else {
        (2.0 - before).clamp(0.0, 6.0)
    };
    format!("{value:.*}", after as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_to_significant_digits() {
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(digits(12.345), "12.3");
        assert_eq!(digits(0.012_345), "0.0123");
        assert_eq!(digits(0.0), "0");
    }

    #[test]
    fn a_table_shows_the_median_of_each_figure() {
        let mut findings = Findings::new("x", "small");
        findings.add("a", "g=1", "time", "s", 1.0);
        findings.add("a", "g=1", "time", "s", 3.0);
        findings.add("b", "g=1", "traffic", "MB", 5.0);
        let expected = "| | | time, s | traffic, MB |\n| --- | --- | ---: | ---: |\n| a | g=1 | 2.00 | |\n\
                        | b | g=1 | | 5.00 |\n\n";
        assert_eq!(table(&findings.figures), expected);
    }
}

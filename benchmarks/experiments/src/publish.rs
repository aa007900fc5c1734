//! CSV, pictures and the page.

use crate::findings::{Claim, Figure, Findings, median};
use crate::peers::Peers;
use std::fmt::Write;
use std::path::Path;

/// Writes an experiment's CSV files, draws its picture, and writes its part of the page.
pub fn publish(findings: &Findings, results: &Path, peers: &Peers) {
    std::fs::create_dir_all(results).unwrap();
    let path = |suffix: &str| results.join(format!("{}{suffix}", findings.name));
    let mut figures = csv::Writer::from_path(path(".csv")).unwrap();
    findings
        .figures
        .iter()
        .for_each(|figure| figures.serialize(figure).unwrap());
    figures.flush().unwrap();
    if !findings.spans.is_empty() {
        let mut spans = csv::Writer::from_path(path("-timeline.csv")).unwrap();
        findings
            .spans
            .iter()
            .for_each(|span| spans.serialize(span).unwrap());
        spans.flush().unwrap();
    }
    peers.make("plot.py", &[&results, &findings.name]);
    std::fs::write(path(".md"), part(findings)).unwrap();
}

/// Puts the parts there are together, in this order.
pub fn page(names: &[String], results: &Path) {
    let parts = names.iter().map(|name| results.join(format!("{name}.md")));
    let parts: String = parts
        .filter_map(|part| std::fs::read_to_string(part).ok())
        .collect();
    let page =
        format!("# Experiments\n\nWritten by `make experiments`; medians of the runs.\n\n{parts}");
    std::fs::write(results.join("README.md"), page).unwrap();
}

fn part(findings: &Findings) -> String {
    let mut part = format!("## {}\n\n{}\n\n", findings.title, findings.notes);
    writeln!(part, "Size: {}.\n", findings.size).unwrap();
    if !findings.claims.is_empty() {
        part += "| what | here | the paper | goal | met |\n| --- | --- | --- | --- | --- |\n";
        for Claim {
            what,
            ours,
            paper,
            goal,
            met,
        } in &findings.claims
        {
            let met = if *met { "yes" } else { "**no**" };
            writeln!(part, "| {what} | {ours} | {paper} | {goal} | {met} |").unwrap();
        }
        part += "\n";
    }
    let name = &findings.name;
    writeln!(part, "![{name}]({name}.png)\n").unwrap();
    part += &table(&findings.figures);
    part
}

/// A row for each system and setting, a column for each figure.
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

/// Three digits that say something.
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
    fn numbers_are_cut_where_they_say_nothing_more() {
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(digits(12.345), "12.3");
        assert_eq!(digits(0.012_345), "0.0123");
        assert_eq!(digits(0.0), "0");
    }

    #[test]
    fn a_table_has_the_medians_of_what_there_is() {
        let mut findings = Findings::new("x", "small");
        findings.add("a", "g=1", "time", "s", 1.0);
        findings.add("a", "g=1", "time", "s", 3.0);
        findings.add("b", "g=1", "traffic", "MB", 5.0);
        let expected = "| | | time, s | traffic, MB |\n| --- | --- | ---: | ---: |\n| a | g=1 | 2.00 | |\n\
                        | b | g=1 | | 5.00 |\n\n";
        assert_eq!(table(&findings.figures), expected);
    }
}

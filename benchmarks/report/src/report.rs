//! The table at the end of a run.

use crate::results::{self, WriteError};
use crate::summary::Summary;
use comfy_table::{Table, presets};
use std::fmt;
use std::path::Path;

/// A measured figure and its reference. `ratio` is our median divided by the reference's.
#[derive(Debug, serde::Serialize)]
struct Row {
    what: String,
    unit: &'static str,
    min: f64,
    median: f64,
    max: f64,
    reference: String,
    reference_min: Option<f64>,
    reference_median: Option<f64>,
    ratio: Option<f64>,
    goal: String,
}

/// All rows of a run.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Adds a figure and prints it immediately, because a run takes minutes.
    pub fn add(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        ours: Summary,
        reference: Option<(&str, Summary)>,
        goal: &str,
    ) {
        let row = Row {
            what: what.into(),
            unit,
            min: ours.min,
            median: ours.median,
            max: ours.max,
            reference: reference.map_or_else(String::new, |(name, _)| name.to_owned()),
            reference_min: reference.map(|(_, summary)| summary.min),
            reference_median: reference.map(|(_, summary)| summary.median),
            ratio: reference.map(|(_, summary)| ours.median / summary.median),
            goal: goal.to_owned(),
        };
        eprintln!("{}: {:.2} {}", row.what, row.median, row.unit);
        self.rows.push(row);
    }

    /// Writes the rows as CSV.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        results::write(path, &self.rows)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.2}"));
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "figure",
            "unit",
            "min",
            "median",
            "max",
            "reference",
            "its min",
            "its median",
            "ratio",
            "goal",
        ]);
        for row in &self.rows {
            table.add_row([
                row.what.clone(),
                row.unit.to_owned(),
                number(Some(row.min)),
                number(Some(row.median)),
                number(Some(row.max)),
                row.reference.clone(),
                number(row.reference_min),
                number(row.reference_median),
                number(row.ratio),
                row.goal.clone(),
            ]);
        }
        table.fmt(f)
    }
}

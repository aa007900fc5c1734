//! What an experiment found.

use serde::Serialize;

/// One measured value.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub system: String,
    pub setting: String,
    pub figure: String,
    pub unit: &'static str,
    pub value: f64,
}

/// A stretch of a worker's time, in seconds since its flare, or the first of several, was asked for.
#[derive(Debug, Serialize)]
pub struct Span {
    pub system: String,
    pub worker: u32,
    pub phase: String,
    pub start: f64,
    pub end: f64,
}

/// What was to be shown, beside what the paper has.
#[derive(Debug)]
pub struct Claim {
    pub what: String,
    pub ours: String,
    pub paper: String,
    pub goal: String,
    pub met: bool,
}

/// All of it.
pub struct Findings {
    pub name: String,
    pub size: String,
    pub title: String,
    /// What differs from the paper's set-up, and what to mind when reading the figures.
    pub notes: String,
    pub figures: Vec<Figure>,
    pub spans: Vec<Span>,
    pub claims: Vec<Claim>,
}

impl Findings {
    pub fn new(name: &str, size: &str) -> Self {
        Self {
            name: name.to_owned(),
            size: size.to_owned(),
            title: String::new(),
            notes: String::new(),
            figures: Vec::new(),
            spans: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Says what this is about.
    pub fn about(&mut self, title: &str, notes: &str) {
        title.clone_into(&mut self.title);
        notes.clone_into(&mut self.notes);
    }

    /// Adds a value, and says it at once: a run takes minutes. Several of the same are runs.
    pub fn add(
        &mut self,
        system: &str,
        setting: &str,
        figure: &str,
        unit: &'static str,
        value: f64,
    ) {
        eprintln!("{system}, {setting}: {figure} {value:.4} {unit}");
        self.figures.push(Figure {
            system: system.to_owned(),
            setting: setting.to_owned(),
            figure: figure.to_owned(),
            unit,
            value,
        });
    }

    /// The median of the runs of a figure, which there must be.
    pub fn median(&self, system: &str, setting: &str, figure: &str) -> f64 {
        let runs = self.figures.iter().filter(|found| {
            (&*found.system, &*found.setting, &*found.figure) == (system, setting, figure)
        });
        median(runs.map(|found| found.value).collect())
    }

    /// Holds a ratio against what it should at least be.
    pub fn at_least(&mut self, what: &str, ratio: f64, paper: &str, goal: f64) {
        self.claims.push(Claim {
            what: what.to_owned(),
            ours: format!("{ratio:.2} ×"),
            paper: paper.to_owned(),
            goal: format!("≥ {goal} ×"),
            met: ratio >= goal,
        });
    }

    /// Holds a ratio against what it should at most be.
    pub fn at_most(&mut self, what: &str, ratio: f64, paper: &str, goal: f64) {
        self.claims.push(Claim {
            what: what.to_owned(),
            ours: format!("{ratio:.2} ×"),
            paper: paper.to_owned(),
            goal: format!("≤ {goal} ×"),
            met: ratio <= goal,
        });
    }
}

/// The middle of at least one value.
pub fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// The median absolute deviation from the median.
pub fn deviation(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    median(values.iter().map(|value| (value - middle).abs()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_deviations() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
        assert_eq!(deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    }
}

//! The findings of an experiment.

use serde::{Deserialize, Serialize};

/// One measured value.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub system: String,
    pub setting: String,
    pub figure: String,
    pub unit: &'static str,
    pub value: f64,
}

/// A span of a worker's time, in seconds since the request for its flare, or for the first of
/// several.
#[derive(Debug, Serialize)]
pub struct Span {
    pub system: String,
    pub worker: u32,
    pub phase: String,
    pub start: f64,
    pub end: f64,
}

/// A claim that the experiment tests, with the paper's result.
#[derive(Debug, Serialize, Deserialize)]
pub struct Claim {
    pub experiment: String,
    pub what: String,
    pub ours: String,
    pub paper: String,
    pub goal: String,
    pub met: bool,
    pub why: String,
}

/// All findings of an experiment.
pub struct Findings {
    pub name: String,
    pub size: String,
    pub title: String,
    /// Differences from the paper's set-up, and caveats for reading the figures.
    pub notes: String,
    pub figures: Vec<Figure>,
    /// The paper's own figures.
    pub paper: Vec<Figure>,
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
            paper: Vec::new(),
            spans: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Sets the title and the notes.
    pub fn about(&mut self, title: &str, notes: &str) {
        title.clone_into(&mut self.title);
        notes.clone_into(&mut self.notes);
    }

    /// Adds a value and prints it immediately, because a run takes minutes. Several values of the
    /// same figure are its runs.
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

    /// Adds figures of the paper, each with its setting.
    pub fn cite(&mut self, system: &str, figure: &str, unit: &'static str, values: &[(&str, f64)]) {
        let cited = values.iter().map(|&(setting, value)| Figure {
            system: system.to_owned(),
            setting: setting.to_owned(),
            figure: figure.to_owned(),
            unit,
            value,
        });
        self.paper.extend(cited);
    }

    /// Returns the median of the runs of a figure, of which there must be at least one.
    pub fn median(&self, system: &str, setting: &str, figure: &str) -> f64 {
        let runs = self.figures.iter().filter(|found| {
            (&*found.system, &*found.setting, &*found.figure) == (system, setting, figure)
        });
        median(runs.map(|found| found.value).collect())
    }

    /// Claims that a ratio is at least `goal`.
    pub fn at_least(&mut self, what: &str, ratio: f64, paper: &str, goal: f64) -> &mut Claim {
        let goal_met = ratio >= goal;
        self.claim(
            what,
            &format!("{ratio:.2} ×"),
            paper,
            &format!("≥ {goal} ×"),
            goal_met,
        )
    }

    /// Claims that a ratio is at most `goal`.
    pub fn at_most(&mut self, what: &str, ratio: f64, paper: &str, goal: f64) -> &mut Claim {
        let goal_met = ratio <= goal;
        self.claim(
            what,
            &format!("{ratio:.2} ×"),
            paper,
            &format!("≤ {goal} ×"),
            goal_met,
        )
    }

    /// Adds a claim and whether it was met.
    pub fn claim(
        &mut self,
        what: &str,
        ours: &str,
        paper: &str,
        goal: &str,
        met: bool,
    ) -> &mut Claim {
        let claim = Claim {
            experiment: self.name.clone(),
            what: what.to_owned(),
            ours: ours.to_owned(),
            paper: paper.to_owned(),
            goal: goal.to_owned(),
            met,
            why: String::new(),
        };
        self.claims.push(claim);
        let last = self.claims.len() - 1;
        &mut self.claims[last]
    }
}

impl Claim {
    /// Adds an explanation, if the goal was not met.
    pub fn if_missed(&mut self, why: &str) {
        if !self.met {
            why.clone_into(&mut self.why);
        }
    }
}

/// Returns the median of at least one value.
pub fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// Returns the median absolute deviation from the median.
pub fn deviation(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    median(values.iter().map(|value| (value - middle).abs()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_deviation_are_computed() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
        assert_eq!(deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    }
}

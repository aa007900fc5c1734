//! What an experiment found.

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

/// All of it.
pub struct Findings {
    pub name: String,
    pub size: String,
    pub title: String,
    /// What differs from the paper's set-up, and what to mind when reading the figures.
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

    /// Cites figures of the paper, each with its setting.
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

    /// The median of the runs of a figure, which there must be.
    pub fn median(&self, system: &str, setting: &str, figure: &str) -> f64 {
        let runs = self.figures.iter().filter(|found| {
            (&*found.system, &*found.setting, &*found.figure) == (system, setting, figure)
        });
        median(runs.map(|found| found.value).collect())
    }

    /// Holds a ratio against what it should at least be.
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

    /// Holds a ratio against what it should at most be.
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

    /// Says what was to be shown and whether it was.
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
    /// What explains it, should the goal not be met.
    pub fn if_missed(&mut self, why: &str) {
        if !self.met {
            why.clone_into(&mut self.why);
        }
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

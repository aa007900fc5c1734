//! The work function.

use crate::model::{Model, Parameters};
use crate::texts::{Text, Texts};
use burst::BurstContext;
use burst::data::{self, Part};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// One text in this many is held out, to test the models on.
const KEPT_APART: u32 = 5;

/// The input of every worker.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// The data set; see [`texts`](crate::texts).
    pub data: String,
    /// Learning rates to try.
    #[serde(default = "default_rates")]
    pub rates: Vec<f32>,
    /// Penalties to try.
    #[serde(default = "default_penalties")]
    pub penalties: Vec<f32>,
    /// Numbers of epochs to try.
    #[serde(default = "default_epochs")]
    pub epochs: Vec<u32>,
}

fn default_rates() -> Vec<f32> {
    vec![0.01, 0.03, 0.1, 0.3, 1.0]
}

fn default_penalties() -> Vec<f32> {
    vec![0.0, 0.001, 0.01, 0.1]
}

fn default_epochs() -> Vec<u32> {
    vec![2, 5]
}

impl Input {
    /// Returns an input with this data set and the default grid.
    pub fn of(data: &Path) -> Self {
        Self {
            data: data.display().to_string(),
            rates: default_rates(),
            penalties: default_penalties(),
            epochs: default_epochs(),
        }
    }

    /// Returns all combinations of the parameters.
    pub fn grid(&self) -> Vec<Parameters> {
        let rates = self.rates.iter();
        let with_penalty = rates.flat_map(|&rate| {
            let penalties = self.penalties.iter();
            penalties.map(move |&penalty| (rate, penalty))
        });
        let all = with_penalty.flat_map(|(rate, penalty)| {
            let epochs = self.epochs.iter();
            epochs.map(move |&epochs| Parameters {
                rate,
                penalty,
                epochs,
            })
        });
        all.collect()
    }
}

/// The output of a worker.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The number of combinations this worker tried.
    pub tried: usize,
    /// All combinations, the best first; empty except in worker 0.
    pub ranking: Vec<Score>,
}

/// A combination and its accuracy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The combination.
    pub parameters: Parameters,
    /// The fraction of the held-out texts that the model classifies correctly.
    pub accuracy: f64,
}

/// Tries all combinations, together with the other workers of the flare.
///
/// # Errors
/// When the data set cannot be read or communication fails.
pub fn work(input: Input, burst: &BurstContext) -> Result<Answer, burst::Error> {
    burst.phase("load");
    let bytes = data::load(burst, &input.data)?;
    burst.phase("parse");
    let parts = parsed(&bytes, burst)?;

    burst.phase("train");
    let texts = parts.iter().flat_map(Texts::iter);
    let (tests, training): (Vec<Text<'_>>, Vec<Text<'_>>) =
        texts.partition(|text| text.line % KEPT_APART == 0);
    let grid = input.grid().into_iter();
    let own = grid
        .skip(burst.worker_id() as usize)
        .step_by(burst.burst_size() as usize);
    let scores = own.map(|parameters| Score {
        parameters,
        accuracy: Model::train(parameters, &training).accuracy(&tests),
    });
    let scores: Vec<Score> = scores.collect();

    burst.phase("gather");
    let tried = scores.len();
    let mut ranking = burst.gather(scores, 0)?.unwrap_or_default().concat();
    // Of equally accurate combinations, the one with fewer epochs is better. The other criteria
    // only make the order deterministic.
    ranking.sort_by(|a, b| {
        let (x, y) = (&a.parameters, &b.parameters);
        b.accuracy
            .total_cmp(&a.accuracy)
            .then(x.epochs.cmp(&y.epochs))
            .then(x.rate.total_cmp(&y.rate))
            .then(x.penalty.total_cmp(&y.penalty))
    });
    Ok(Answer { tried, ranking })
}

/// Returns all texts in parts: each worker of the pack parses one part, and the workers share all
/// of them.
fn parsed(bytes: &[u8], burst: &BurstContext) -> Result<Arc<Vec<Texts>>, burst::Error> {
    let first = burst
        .workers_of(burst.pack_id())
        .map_or(burst.worker_id(), |workers| workers.start);
    let own = Part {
        index: burst.worker_id() - first,
        of: burst.pack_size(),
    };
    let share = data::share(bytes.len() as u64, own);
    let texts = Texts::parse(bytes, share.start as usize..share.end as usize)?;
    Ok(burst.my_pack().all_gather(texts)?)
}

//! Estimates pi from random points in the unit square. Workers do not communicate until a single reduce adds
//! up their hits.

use burst::BurstContext;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// The input of every worker.
#[derive(Clone, Deserialize)]
struct Input {
    /// The number of points of all workers together.
    samples: u64,
    /// Makes a run repeatable.
    #[serde(default)]
    seed: u64,
}

/// The output of worker 0; the others return null.
#[derive(Debug, Serialize)]
struct Estimate {
    pi: f64,
    samples: u64,
}

fn work(input: Input, burst: &BurstContext) -> Result<Option<Estimate>, burst::Error> {
    let (worker, workers) = (u64::from(burst.worker_id()), u64::from(burst.burst_size()));
    // The first `samples % workers` workers take one extra point each, so that none is lost.
    let share = input.samples / workers + u64::from(worker < input.samples % workers);

    burst.phase("sample");
    let mut random = SmallRng::seed_from_u64(input.seed ^ (worker << 32));
    let hits = (0..share)
        .filter(|_| {
            let (x, y): (f64, f64) = (random.random(), random.random());
            x * x + y * y <= 1.0
        })
        .count() as u64;

    burst.phase("reduce");
    let total = burst.reduce((hits, share), 0, |a, b| (a.0 + b.0, a.1 + b.1))?;
    Ok(total.map(|(hits, samples)| Estimate {
        pi: 4.0 * hits as f64 / samples.max(1) as f64,
        samples,
    }))
}

burst::main!(work);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn worker_0_estimates_pi_at_any_size_and_granularity() {
        for (size, granularity) in [
            (1, 1),
            (2, 1),
            (2, 2),
            (3, 1),
            (3, 2),
            (8, 1),
            (8, 4),
            (8, 8),
        ] {
            let inputs = vec![
                Input {
                    samples: 200_001,
                    seed: 7
                };
                size
            ];
            let mut outputs = burst::testing::run(work, inputs, granularity).unwrap();
            let estimate = outputs.remove(0).unwrap();
            assert_eq!(estimate.samples, 200_001);
            assert!(
                (estimate.pi - std::f64::consts::PI).abs() < 0.02,
                "{estimate:?}"
            );
            assert!(outputs.iter().all(Option::is_none));
        }
    }
}

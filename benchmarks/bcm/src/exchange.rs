//! All-to-all between packs, compared with the same exchange by one message per pair of workers.

use crate::report::Report;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Communicator, Error, Tag, testing};
use std::time::Instant;

/// Measures all-to-alls of several sizes on several topologies.
pub fn all_to_all(turns: usize, report: &mut Report) {
    let backend = BackendConfig::new("direct");
    for (packs, workers) in [(8, 1), (4, 6), (2, 24)] {
        let sizes = vec![workers; packs];
        for bytes in [8, 4 << 10, 8 << 10, 64 << 10] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..turns {
                theirs.extend(times(&backend, &sizes, bytes, a_message_each));
                ours.extend(times(&backend, &sizes, bytes, Communicator::all_to_all));
            }
            report.add(
                format!("direct, all-to-all of {bytes} B, {packs} packs of {workers}"),
                "ms",
                Summary::of(ours),
                Some(("a message per pair", Summary::of(theirs))),
                "",
            );
        }
    }
}

type Values = Vec<Vec<u8>>;

fn a_message_each(worker: &Communicator, values: Values) -> Result<Values, Error> {
    let (me, size) = (worker.rank(), worker.size());
    let mut requests = Vec::new();
    for step in 0..size {
        requests.push(worker.irecv((me + size - step) % size, Tag::default())?);
    }
    let mut values: Vec<_> = values.into_iter().map(Some).collect();
    for step in 0..size {
        let to = (me + step) % size;
        worker.send(values[to as usize].take().unwrap(), to)?;
    }
    requests.into_iter().map(|request| request.wait()).collect()
}

/// Returns the longest time that any worker took, in milliseconds, with packs of these numbers of workers.
fn times(
    backend: &BackendConfig,
    sizes: &[u32],
    bytes: usize,
    exchange: impl Fn(&Communicator, Values) -> Result<Values, Error> + Sync,
) -> Vec<f64> {
    let samples = 10;
    let results = testing::run(sizes, backend, |worker| {
        let mut times = Vec::new();
        for _ in 0..=samples {
            let values = vec![vec![1u8; bytes]; worker.size() as usize];
            worker.barrier()?;
            let start = Instant::now();
            let got = exchange(worker, values)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            assert!(got.len() == worker.size() as usize);
            worker.barrier()?;
        }
        Ok(times)
    });
    let times: Vec<Vec<f64>> = results.into_iter().map(|result| result.unwrap()).collect();
    (1..=samples)
        .map(|sample| times.iter().map(|times| times[sample]).fold(0.0, f64::max))
        .collect()
}

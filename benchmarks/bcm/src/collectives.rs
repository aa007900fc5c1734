//! Measures collectives over several packs: their time, and the bytes sent between packs.

use burst_bcm::{BackendConfig, Communicator, Error, Pack, PackConfig, testing};
use std::time::{Duration, Instant};

/// An operation, and the size of one worker's data for it.
#[derive(Clone, Copy)]
pub struct Operation {
    pub name: &'static str,
    pub data: &'static str,
    bytes: usize,
    run: fn(&Communicator, usize) -> Result<Instant, Error>,
}

/// The workers of an execution.
#[derive(Clone, Copy)]
pub struct Shape {
    pub workers: u32,
    /// The number of workers of each pack.
    pub granularity: u32,
}

/// The measurements of an operation.
pub struct Measured {
    pub milliseconds: Vec<f64>,
    /// The bytes that one execution sent between packs, as counted by the library.
    pub remote_bytes: u64,
}

pub const BROADCAST: Operation = Operation {
    name: "broadcast",
    data: "16 MiB",
    bytes: 16 << 20,
    run: |worker, bytes| {
        let value = (worker.worker_id() == 0).then(|| vec![1u8; bytes]);
        let begun = ready(worker)?;
        let got = worker.broadcast(value, 0)?;
        assert_eq!(got.len(), bytes);
        Ok(begun)
    },
};

pub const ALL_TO_ALL: Operation = Operation {
    name: "all-to-all",
    data: "16 MiB of each worker",
    bytes: 16 << 20,
    run: |worker, bytes| {
        let workers = worker.burst_size() as usize;
        let values = vec![vec![1u8; bytes / workers]; workers];
        let begun = ready(worker)?;
        let got = worker.all_to_all(values)?;
        assert_eq!(got.len(), workers);
        Ok(begun)
    },
};

fn ready(worker: &Communicator) -> Result<Instant, Error> {
    worker.barrier()?;
    Ok(Instant::now())
}

impl Operation {
    /// Measures from when the first worker begins until the last one has finished.
    pub fn measure(&self, backend: &BackendConfig, shape: Shape, samples: usize) -> Measured {
        let Shape {
            workers,
            granularity,
        } = shape;
        let sizes = vec![granularity; (workers / granularity) as usize];
        let configure =
            |config: &mut PackConfig| config.operation_timeout = Duration::from_secs(120);
        let packs = testing::packs(&sizes, backend, configure).unwrap();
        let mut milliseconds = Vec::new();
        let mut remote_bytes = 0;
        for sample in 0..=samples {
            let before = sent(&packs);
            let times = testing::run_on(&packs, |worker| {
                let begun = (self.run)(worker, self.bytes)?;
                Ok((begun, Instant::now()))
            });
            let times: Vec<_> = times.into_iter().map(|time| time.unwrap()).collect();
            let begun = times.iter().map(|&(begun, _)| begun).min().unwrap();
            let done = times.iter().map(|&(_, done)| done).max().unwrap();
            // The first sample establishes the connections.
            if sample > 0 {
                milliseconds.push((done - begun).as_secs_f64() * 1e3);
            }
            remote_bytes = sent(&packs) - before;
        }
        let median = milliseconds[samples / 2];
        eprintln!(
            "{}, {workers} workers, {granularity} per pack: {median:.1} ms",
            self.name
        );
        Measured {
            milliseconds,
            remote_bytes,
        }
    }
}

/// Returns the bytes sent to other packs so far. Barriers do not count.
fn sent(packs: &[Pack]) -> u64 {
    packs.iter().map(|pack| pack.traffic().bytes_sent).sum()
}

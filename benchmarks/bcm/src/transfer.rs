//! Large messages from the workers of one pack to those of another.

use burst_bcm::{BackendConfig, PackConfig, testing};
use std::time::{Duration, Instant};

/// The messages to send, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The number of pairs of workers, each with its own message.
    pub pairs: u32,
    /// The size of a message.
    pub bytes: usize,
    pub samples: usize,
}

/// Returns GB/s of one concurrent message per pair, from the first `send` to the end of the last
/// `recv`.
pub fn rates(backend: &BackendConfig, load: Load) -> Vec<f64> {
    let Load {
        pairs,
        bytes,
        samples,
    } = load;
    let configure = |config: &mut PackConfig| config.operation_timeout = Duration::from_secs(120);
    let results = testing::run_with(&[pairs, pairs], backend, configure, |worker| {
        let me = worker.worker_id();
        let mut moments = Vec::new();
        for _ in 0..=samples {
            let mut value = match me < pairs {
                true => vec![1u8; bytes],
                false => Vec::new(),
            };
            worker.barrier()?;
            if me < pairs {
                moments.push(Instant::now());
                worker.send(value, me + pairs)?;
            } else {
                value = worker.recv(me - pairs)?;
                moments.push(Instant::now());
                assert!(value.len() == bytes && value[bytes - 1] == 1);
            }
        }
        Ok(moments)
    });
    let moments: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
    let (senders, receivers) = moments.split_at(pairs as usize);
    // The first sample is not counted: it establishes the connection, and on a virtual machine it
    // can have to get memory from the host, which takes longer than the message.
    (1..=samples)
        .map(|sample| {
            let begun = senders.iter().map(|moments| moments[sample]).min();
            let done = receivers.iter().map(|moments| moments[sample]).max();
            let took = done.unwrap() - begun.unwrap();
            f64::from(pairs) * bytes as f64 / 1e9 / took.as_secs_f64()
        })
        .collect()
}

//! One message of 256 MB between two packs, compared with a client that only moves the same chunks.

use crate::report::Report;
use crate::servers::Server;
use crate::summary::Summary;
use crate::tcp::Iperf;
use crate::transfer::{self, Load};
use crate::{bare_rabbitmq, bare_s3, redis_benchmark};
use burst_bcm::{BackendConfig, default_chunk_size};

const BYTES: usize = 256 << 20;

/// A client that only moves the same chunks.
struct Reference {
    name: &'static str,
    goal: &'static str,
    /// GB/s.
    rate: Box<dyn Fn() -> f64>,
}

/// Measures the throughput of a backend.
pub fn through(backend: &str, turns: usize, report: &mut Report) {
    let server = Server::of(backend);
    let config = server.config(backend);
    let reference = reference(&config);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let load = Load {
        pairs: 1,
        bytes: BYTES,
        samples: 4,
    };
    for _ in 0..turns {
        theirs.extend(reference.iter().map(|reference| (reference.rate)()));
        ours.extend(transfer::rates(&config, load));
    }
    report.add(
        format!("{backend}, one message of 256 MB, two packs"),
        "GB/s",
        Summary::of(ours),
        (reference.as_ref()).map(|reference| (reference.name, Summary::of(theirs))),
        reference.as_ref().map_or("", |reference| reference.goal),
    );
}

/// Returns the reference of a backend, if it has one.
fn reference(config: &BackendConfig) -> Option<Reference> {
    let uri = config.uri.clone().unwrap_or_default();
    let chunk = default_chunk_size(&config.kind);
    let (name, goal, rate): (_, _, Box<dyn Fn() -> f64>) = match &*config.kind {
        "direct" => {
            let iperf = Iperf::start();
            let rate = move || iperf.run(BYTES);
            ("iperf3, one stream", "ratio >= 0.9", Box::new(rate))
        }
        "redis-list" => (
            "redis-benchmark, RPUSH and then BLPOP",
            "ratio >= 0.9",
            Box::new(move || redis_benchmark::list(&uri, BYTES, chunk)),
        ),
        "redis-stream" => (
            "redis-benchmark, XADD and then XREAD",
            "ratio >= 0.9",
            Box::new(move || redis_benchmark::stream(&uri, BYTES, chunk)),
        ),
        "rabbitmq" => (
            "bare client, confirms and acknowledgements",
            "ratio >= 0.8",
            Box::new(move || bare_rabbitmq::rate(&uri, BYTES, chunk)),
        ),
        "s3" => (
            "bare client, PUT and then GET, 8 at once",
            "ratio >= 0.8",
            Box::new(move || bare_s3::rate(&uri, BYTES, chunk)),
        ),
        _ => return None,
    };
    Some(Reference { name, goal, rate })
}

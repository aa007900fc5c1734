//! One message of 256 MB between two packs, against what the server gives to a client that does
//! nothing but move the same chunks.

use crate::report::Report;
use crate::servers::Server;
use crate::summary::Summary;
use crate::tcp::Iperf;
use crate::{bare_rabbitmq, bare_s3, redis_benchmark, transfer};
use burst_bcm::default_chunk_size;

const BYTES: usize = 256 << 20;

/// Through a backend.
pub fn through(backend: &str, turns: usize, report: &mut Report) {
    let server = Server::of(backend);
    let iperf = (backend == "direct").then(Iperf::start);
    let config = server.config(backend);
    let uri = config.uri.clone().unwrap_or_default();
    let chunk = default_chunk_size(backend);
    let bare = || match backend {
        "direct" => iperf.as_ref().unwrap().run(BYTES),
        "redis-list" => redis_benchmark::list(&uri, BYTES, chunk),
        "redis-stream" => redis_benchmark::stream(&uri, BYTES, chunk),
        "rabbitmq" => bare_rabbitmq::rate(&uri, BYTES, chunk),
        _ => bare_s3::rate(&uri, BYTES, chunk),
    };
    let (reference, goal) = match backend {
        "direct" => ("iperf3, one stream", "ratio >= 0.9"),
        "redis-list" => ("redis-benchmark, RPUSH and then BLPOP", "ratio >= 0.9"),
        "redis-stream" => ("redis-benchmark, XADD and then XREAD", "ratio >= 0.9"),
        "rabbitmq" => ("bare client, confirms and acknowledgements", "ratio >= 0.8"),
        _ => ("bare client, PUT and then GET, 8 at once", "ratio >= 0.8"),
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        theirs.push(bare());
        ours.extend(transfer::rates(&config, 1, BYTES, 4));
    }
    report.add(
        format!("{backend}, one message of 256 MB, two packs"),
        "GB/s",
        Summary::of(ours),
        Some((reference, Summary::of(theirs))),
        goal,
    );
}

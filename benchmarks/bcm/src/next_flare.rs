//! The next flare of the same packs over their existing connections, as in a group, compared with
//! packs that connect again for each flare.

use crate::report::Report;
use crate::servers::Server;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Connections, Pack, testing};
use std::time::Instant;

/// Two packs with one worker each.
const SIZES: [u32; 2] = [1, 1];
/// Each pack's connections from its last flare, if any.
type ReusableConnections = Vec<Option<Connections>>;

/// Measures from when the first pack joins until the last one has left, with one message there and
/// back.
pub fn latency(backend: &str, turns: usize, report: &mut Report) {
    let server = Server::of(backend);
    let config = server.config(backend);
    let (mut anew, mut over) = (Vec::new(), Vec::new());
    let mut reusable = ReusableConnections::new();
    // The first flare has no connections to reuse.
    flare(&config, &mut reusable, true);
    for _ in 0..turns * 20 {
        anew.push(flare(&config, &mut ReusableConnections::new(), false));
        over.push(flare(&config, &mut reusable, true));
    }
    report.add(
        format!("next flare of two packs and its first message, {backend}"),
        "ms",
        Summary::of(over),
        Some(("connecting anew", Summary::of(anew))),
        "ratio < 1",
    );
}

/// Runs a flare and returns its time in milliseconds.
fn flare(config: &BackendConfig, reusable: &mut ReusableConnections, stays: bool) -> f64 {
    let begun = Instant::now();
    let packs = testing::packs_over(std::mem::take(reusable), &SIZES, config, |_| {}).unwrap();
    let results = testing::run_on(&packs, |worker| {
        let peer = 1 - worker.worker_id();
        worker.send(7u64, peer)?;
        worker.recv::<u64>(peer)
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    std::thread::scope(|scope| {
        // Packs leave concurrently, as separate processes would: one waits for the other.
        let leaving: Vec<_> = packs
            .iter()
            .map(|pack| scope.spawn(move || leave(pack, stays)))
            .collect();
        *reusable = leaving
            .into_iter()
            .map(|pack| pack.join().unwrap())
            .collect();
    });
    begun.elapsed().as_secs_f64() * 1e3
}

fn leave(pack: &Pack, stays: bool) -> Option<Connections> {
    if stays {
        return pack.leave();
    }
    pack.close();
    None
}

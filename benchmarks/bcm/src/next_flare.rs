//! The next flare of the same packs, as those of a group run it, over the connections they have,
//! against packs that connect anew for each flare.

use crate::report::Report;
use crate::servers::Server;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Connections, Pack, testing};
use std::time::Instant;

/// Two packs with one worker each.
const SIZES: [u32; 2] = [1, 1];
/// What each pack has from its last flare, or nothing.
type ReusableConnections = Vec<Option<Connections>>;

/// From the first pack's joining to the last one's having left, with one message there and back.
pub fn latency(backend: &str, turns: usize, report: &mut Report) {
    let server = Server::of(backend);
    let config = server.config(backend);
    let (mut anew, mut over) = (Vec::new(), Vec::new());
    let mut reusable = ReusableConnections::new();
    // The first one has nothing to join over.
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

/// How many milliseconds it takes.
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
        // As processes of their own would: the last one to leave waits for the other.
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

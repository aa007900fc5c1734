//! Traffic between packs, by the library's own count: the larger the packs, the less.

use burst_bcm::{BackendConfig, Communicator, Error, Pack, testing};

const WORKERS: u32 = 12;
/// Too long to be bundled.
const BYTES: usize = 100_000;

/// The bytes that go between packs of this size in one operation, as counted by the senders and by
/// the receivers.
fn remote_bytes(
    granularity: u32,
    operation: impl Fn(&Communicator) -> Result<(), Error> + Sync,
) -> (u64, u64) {
    let sizes = vec![granularity; (WORKERS / granularity) as usize];
    let packs = testing::packs(&sizes, &BackendConfig::new("memory"), |_| {}).unwrap();
    let results = testing::run_on(&packs, operation);
    assert_eq!(results, vec![Ok(()); WORKERS as usize]);
    let traffic = packs.iter().map(Pack::traffic);
    traffic.fold((0, 0), |(sent, received), traffic| {
        (sent + traffic.bytes_sent, received + traffic.bytes_received)
    })
}

#[test]
fn a_broadcast_goes_once_to_each_other_pack() {
    for granularity in [1, 2, 3, 4, 6, 12] {
        let bytes = remote_bytes(granularity, |worker| {
            let value = (worker.worker_id() == 5).then(|| vec![1u8; BYTES]);
            worker.broadcast(value, 5).map(drop)
        });
        let packs = u64::from(WORKERS / granularity);
        let expected = (packs - 1) * BYTES as u64;
        assert_eq!(bytes, (expected, expected), "{granularity} per pack");
    }
}

#[test]
fn an_all_to_all_sends_the_share_of_the_remote_pairs() {
    for granularity in [1, 2, 3, 4, 6, 12] {
        let bytes = remote_bytes(granularity, |worker| {
            let values = vec![vec![1u8; BYTES]; WORKERS as usize];
            worker.all_to_all(values).map(drop)
        });
        let remote_pairs = u64::from(WORKERS * (WORKERS - granularity));
        let expected = remote_pairs * BYTES as u64;
        assert_eq!(bytes, (expected, expected), "{granularity} per pack");
    }
}

//! Random flares, in groups and on their own, and random faults for a while; nothing is lost, and nothing is left
//! behind.
//!
//! Each fault strikes once, in random order, and then any of them until `BURST_SOAK_SECONDS` have passed (two minutes
//! by default, ten in `make soak`). `BURST_SOAK_SEED` determines what happens.

use std::env;
use std::time::{Duration, Instant};

use burst_tests::cluster::Setup;
use burst_tests::faults::Fault;
use burst_tests::invariants::Accepted;
use burst_tests::traffic::{Traffic, TrafficOptions};
use burst_tests::{Cluster, Driver, failing};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

const INVOKERS: usize = 4;
/// The invoker on a separate machine.
const REMOTE: usize = 3;

#[test]
fn random_flares_survive_random_faults() {
    let seconds = setting("BURST_SOAK_SECONDS", 120);
    let seed = setting("BURST_SOAK_SEED", 1);
    println!("soak of {seconds} s with seed {seed}");
    let setup = Setup::new(Driver::Process)
        .controllers(2)
        .invokers(INVOKERS)
        .slots(16)
        .remote(REMOTE)
        .redis()
        .limit(Duration::from_secs(seconds + 1800));
    let mut cluster = Cluster::start(setup);
    cluster.deploy(failing::NAME);
    let mut accepted = Accepted::default();
    let mut random = SmallRng::seed_from_u64(seed);
    let options = TrafficOptions {
        size: 64,
        hold: Duration::from_secs(1),
        backends: vec!["direct", "redis-list"],
        bad: 10,
        pause: Duration::from_secs(4),
    };
    let mut senders: Vec<_> = (0..2)
        .map(|sender| Traffic::flares(cluster.apis(), seed * 2 + sender, options.clone()))
        .collect();
    let small = TrafficOptions {
        size: 16,
        ..options
    };
    senders.push(Traffic::groups(cluster.apis(), seed, small));
    let start = Instant::now();
    let mut round = KINDS;
    round.shuffle(&mut random);
    let mut round = round.into_iter();
    loop {
        let kind = match round.next() {
            Some(kind) => kind,
            None if start.elapsed() < Duration::from_secs(seconds) => {
                *KINDS.choose(&mut random).unwrap()
            }
            None => break,
        };
        let fault = kind(&mut random);
        print!("{:4} s: ", start.elapsed().as_secs());
        fault.strike(&mut cluster);
    }
    for sender in senders {
        accepted.note(sender.stop());
    }
    let end = Instant::now();
    accepted.check(&cluster);
    let drained = end.elapsed().as_secs();
    println!(
        "seed {seed}: all have ended {drained} s later: {:?}, {} groups",
        accepted.ends(),
        accepted.groups()
    );
}

type Kind = fn(&mut SmallRng) -> Fault;

const KINDS: [Kind; 9] = [
    |random| Fault::Pack(random.random_range(0..INVOKERS)),
    |random| Fault::Invoker(random.random_range(0..INVOKERS)),
    |random| {
        Fault::PausedInvoker(
            random.random_range(0..INVOKERS),
            Duration::from_secs(random.random_range(1..=20)),
        )
    },
    |random| Fault::Partition(REMOTE, Duration::from_secs(random.random_range(1..=20))),
    |random| Fault::Database(Duration::from_secs(random.random_range(0..=5))),
    |_| Fault::Scheduler,
    |_| Fault::PausedScheduler,
    |_| Fault::OtherController,
    |_| Fault::Controllers,
];

pub(crate) fn setting(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect(name))
}

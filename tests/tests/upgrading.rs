//! A cluster is upgraded node by node, and downgraded again, while its users notice nothing.
//!
//! `BURST_UPGRADE_FROM` is the distribution of an earlier release (`make test-upgrade` builds one); without it, nodes
//! are replaced by others of their own release. `BURST_UPGRADES` sets how often all of them are replaced.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use burst_tests::cluster::Setup;
use burst_tests::counted;
use burst_tests::invariants::Accepted;
use burst_tests::{Cluster, Driver};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::handovers::clients::Clients;
use crate::soak::setting;

#[derive(Debug, Clone, Copy)]
enum Replaced {
    Controller(usize),
    Invoker(usize),
}

use Replaced::{Controller, Invoker};

impl Replaced {
    #[track_caller]
    fn by(self, cluster: &mut Cluster, distribution: Option<PathBuf>) {
        match self {
            Controller(index) => cluster.stop_controller(index),
            Invoker(index) => cluster.stop_invoker(index),
        }
        cluster.set_distribution(distribution);
        match self {
            Controller(index) => cluster.start_controllers(&[index]),
            Invoker(index) => cluster.start_invoker(index),
        }
    }
}

#[test]
fn flares_survive_a_rolling_upgrade_under_load() {
    let former = std::env::var_os("BURST_UPGRADE_FROM").map(PathBuf::from);
    let rounds = setting("BURST_UPGRADES", 1);
    let seed = setting("BURST_UPGRADES_SEED", 1);
    let setup = Setup::new(Driver::Process)
        .controllers(2)
        .invokers(2)
        .slots(8)
        .distribution(former.clone())
        .limit(Duration::from_secs(1800 + 240 * rounds))
        .set("burst.limits.flares-per-minute", "1000000")
        // The test is not about how fast a controller comes up on a busy machine.
        .set("burst.invokers.contact-timeout", "90s")
        // Flares may end on a draining machine: the longest of the clients' flares take less.
        .set_invokers("burst.drain-timeout", "30s");
    let mut cluster = Cluster::start(setup);
    let runs = counted::deploy(&cluster);
    let mut random = SmallRng::seed_from_u64(seed);
    let began = Instant::now();
    let clients = Clients::start(&cluster.apis(), &runs, seed);
    for round in 0..rounds {
        let (next, to) = match round % 2 {
            0 => (None, "the release under test"),
            _ => (former.clone(), "the earlier release"),
        };
        let mut order = [Controller(0), Controller(1), Invoker(0), Invoker(1)];
        order.shuffle(&mut random);
        for node in order {
            if clients.has_failed() {
                break;
            }
            let at = began.elapsed().as_secs();
            println!("{at:4} s: {node:?} becomes {to}");
            node.by(&mut cluster, next.clone());
            cluster.all_up_again();
            std::thread::sleep(Duration::from_millis(random.random_range(0..3_000)));
        }
    }
    let report = clients.stop();
    println!(
        "{rounds} rounds in {} s: {report}",
        began.elapsed().as_secs()
    );
    report.check(&runs);
    Accepted::default().check(&cluster);
}

//! Invocations while packs, invokers and controllers are killed at random. `BURST_KILLS_INVOCATIONS` sets their number
//! (10,000 in `make kills`), `BURST_KILLS_SEED` what happens.

use std::thread;
use std::time::{Duration, Instant};

use burst_tests::cluster::Setup;
use burst_tests::invariants::Accepted;
use burst_tests::invocations::{self, Ledger, Pace, Stream};
use burst_tests::processes::{self, Process};
use burst_tests::{Cluster, Driver, node, wait};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::soak::setting;

const INVOKERS: usize = 3;
const PACE: Pace = Pace {
    clients: 8,
    pause: Duration::from_millis(300),
};

/// What to kill.
#[derive(Debug, Clone, Copy)]
enum Kill {
    Pack,
    Invoker,
    Scheduler,
    OtherController,
}

/// In practice, packs end more often than machines.
const KILLS: [Kill; 8] = [
    Kill::Pack,
    Kill::Pack,
    Kill::Pack,
    Kill::Pack,
    Kill::Invoker,
    Kill::Invoker,
    Kill::Scheduler,
    Kill::OtherController,
];

#[test]
fn invocations_survive_random_kills() {
    let wanted = setting("BURST_KILLS_INVOCATIONS", 400) as usize;
    let seed = setting("BURST_KILLS_SEED", 1);
    println!("{wanted} invocations with seed {seed}");
    let mut cluster = Cluster::start(setup());
    let runs = invocations::deploy(&cluster.api(), cluster.scratch());
    let mut random = SmallRng::seed_from_u64(seed);
    let began = Instant::now();
    let stream = Stream::start(&cluster.apis(), seed, PACE);
    let mut kills = 0;
    while stream.accepted() < wanted || kills < KILLS.len() {
        // Each of them, in random order, repeatedly.
        let mut round = KILLS;
        round.shuffle(&mut random);
        for kill in round {
            thread::sleep(Duration::from_millis(random.random_range(0..2_000)));
            println!("{:4} s: {kill:?}", began.elapsed().as_secs());
            strike(kill, &mut random, &mut cluster);
            kills += 1;
            if stream.accepted() >= wanted && kills >= KILLS.len() {
                break;
            }
        }
    }
    let sent = stream.stop();
    println!("{kills} kills in {} s", began.elapsed().as_secs());
    let ledger = Ledger::read(&cluster.api(), &sent, &runs);
    println!("{}\n{:#?}", sent.summary(), ledger.ends());
    ledger.check(&sent);
    // Calls that had not begun were tried elsewhere, except those that were just about to begin on a lost machine, or
    // were handed out by a controller that ended: their state is unknown.
    let unknown = [
        "The controller restarted",
        "The machine that ran the action was lost",
    ];
    for result in ledger.never_begun(&sent) {
        let error = result["error"].as_str().unwrap_or_default();
        assert!(
            unknown.iter().any(|known| error.starts_with(known)),
            "{result:#}"
        );
    }
    Accepted::default().check(&cluster);
}

/// Whichever is noticed first, the container's end or that of the connection to it: it is not the program's fault, and
/// the call is not repeated, as the program may already have done something.
#[test]
fn a_call_is_lost_if_its_container_is_killed_during_startup() {
    let cluster = Cluster::start(Setup::new(Driver::Process).invokers(1));
    let api = cluster.api();
    let code = "import time\ntime.sleep(20)\ndef main(args):\n    return {}\n";
    let exec = json!({"kind": "python:default", "code": code});
    api.put_action("slow", &json!({ "exec": exec }));
    let id = api.begin("slow", &json!({}));
    let runtime = wait::until("its program starts", node::START_LIMIT, || {
        let mut runtimes = cluster.runtimes().into_iter();
        let starts = |runtime: &Process| {
            let all = cluster.pack_processes();
            all.iter()
                .any(|it| processes::parent(it.pid) == Some(runtime.pid))
        };
        runtimes.find(starts)
    });
    node::kill(runtime.pid);
    let record = api.ended_activation(&id);
    let response = &record["response"];
    assert_eq!(response["status"], "whisk internal error", "{record:#}");
    let error = response["result"]["error"].as_str().unwrap_or_default();
    assert!(
        error.starts_with("The machine that ran the action was lost"),
        "{record:#}"
    );
}

fn strike(kill: Kill, random: &mut SmallRng, cluster: &mut Cluster) {
    match kill {
        Kill::Pack => {
            let runtimes: Vec<_> = cluster.runtimes().into_iter().collect();
            if let Some(runtime) = runtimes.choose(random) {
                node::kill(runtime.pid);
            }
        }
        Kill::Invoker => {
            let invoker = random.random_range(0..INVOKERS);
            cluster.kill_invoker(invoker);
            cluster.start_invoker(invoker);
        }
        Kill::Scheduler => restart(cluster, cluster.scheduler()),
        Kill::OtherController => restart(cluster, 1 - cluster.scheduler()),
    }
    cluster.all_up_again();
}

fn restart(cluster: &mut Cluster, controller: usize) {
    cluster.kill_controller(controller);
    cluster.start_controllers(&[controller]);
}

/// Two controllers that keep all records.
fn setup() -> Setup {
    Setup::new(Driver::Process)
        .controllers(2)
        .invokers(INVOKERS)
        .limit(Duration::from_secs(3600))
        .set("burst.store.retention.flares", "1000000")
        .set("burst.limits.flares-per-minute", "1000000")
}

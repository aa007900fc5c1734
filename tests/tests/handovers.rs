//! Running flares continue when the scheduler moves to another controller, whether its controller is killed or stopped
//! cleanly.
//!
//! `BURST_HANDOVERS` sets how often this happens in `flares_survive_repeated_handovers` (3 by default, 200 in `make
//! handovers`), and `BURST_HANDOVERS_SEED` determines what happens.

pub(crate) mod clients;
mod groups;
mod unasked;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use burst_client::Flare;
use burst_tests::cluster::Setup;
use burst_tests::counted::{self, Order, Runs};
use burst_tests::invariants::Accepted;
use burst_tests::patient::Patient;
use burst_tests::{Cluster, Driver, node, wait};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;

use self::clients::Clients;
use crate::soak::setting;

const SLOTS: u32 = 8;
/// Below the 16 MiB that a worker can put out.
const LARGE: usize = 6 << 20;
/// From a change of scheduler to the end of flares that only waited for it.
const LIMIT: Duration = Duration::from_secs(400);

/// Two controllers and two invokers.
fn two() -> Setup {
    Setup::new(Driver::Process)
        .controllers(2)
        .invokers(2)
        .slots(SLOTS)
        // The test is not about how fast another controller takes over on a busy machine.
        .set("burst.invokers.contact-timeout", "90s")
}

/// The work of two invokers: they are full, and one flare waits.
struct Work {
    runs: Runs,
    client: Patient,
    flares: Vec<(Order, String)>,
}

impl Work {
    #[track_caller]
    fn start(cluster: &Cluster) -> Self {
        Self {
            runs: counted::deploy(cluster),
            client: Patient::new(cluster.apis(), 0),
            flares: Vec::new(),
        }
    }

    /// Starts a flare and returns its id.
    #[track_caller]
    fn flare(&mut self, order: Order) -> String {
        let id = self.client.start(&order, &self.runs, false).unwrap();
        self.flares.push((order, id.clone()));
        id
    }

    /// Waits until this many workers have begun, counting repeated beginnings.
    #[track_caller]
    fn begun(&self, count: usize) {
        let begun = || self.runs.read();
        wait::until_seen("its workers have begun", wait::SOON, begun, |runs| {
            runs.values().sum::<usize>() == count
        });
    }

    /// Waits until the platform also reports that these run.
    #[track_caller]
    fn running(&mut self, ids: &[&String]) {
        for id in ids {
            let look = || self.client.flare(id).unwrap();
            let running = |flare: &Flare| flare.state == "running";
            wait::until_seen("it runs", wait::SOON, look, running);
        }
    }

    #[track_caller]
    fn now(&mut self, id: &str) -> Flare {
        self.client.flare(id).unwrap()
    }

    /// Checks that each flare succeeds with the expected output at its first attempt, and that each of its workers ran
    /// once.
    #[track_caller]
    fn all_succeed_at_once(&mut self) {
        for (order, id) in &self.flares {
            let flare = self.client.ended(id, LIMIT).unwrap();
            self.client.check_outcome(order, &flare).unwrap();
            assert_eq!(flare.attempt, 1, "{flare:#?}");
        }
        let runs = self.runs.read();
        let workers: Vec<u64> = self.flares.iter().flat_map(|it| it.0.workers()).collect();
        assert!(workers.iter().all(|n| runs.get(n) == Some(&1)), "{runs:?}");
        assert_eq!(runs.len(), workers.len(), "{runs:?}");
    }
}

#[test]
fn running_flares_continue_after_the_schedulers_controller_is_killed() {
    flares_continue_after(|cluster, scheduler, no_scheduler_runs| {
        cluster.kill_controller(scheduler);
        no_scheduler_runs();
    });
}

#[test]
fn running_flares_continue_after_the_schedulers_controller_is_replaced() {
    flares_continue_after(|cluster, scheduler, it_is_stopping| {
        cluster.signal_controller(scheduler, Signal::TERM);
        it_is_stopping();
        // It has already been signalled; this waits for its end.
        cluster.stop_controller(scheduler);
        cluster.start_controllers(&[scheduler]);
    });
}

/// Runs flares through `change`, which takes the scheduler from its controller and calls its argument when some flares
/// should end in the meantime.
#[track_caller]
fn flares_continue_after(change: impl FnOnce(&mut Cluster, usize, &dyn Fn())) {
    let mut cluster = Cluster::start(two());
    let mut work = Work::start(&cluster);
    let file = |name: &str| cluster.scratch().join(name);
    let (meanwhile, over) = (file("meanwhile"), file("over"));
    let pairs = |number, size, file: &Path| {
        let order = Order::new(number, size).until(file);
        order.option("granularity", 2)
    };
    // More than fits on one machine: on both, in five packs that exchange something at the end.
    let spread = work.flare(pairs(1, 10, &over));
    let single = work.flare(pairs(2, 2, &over));
    let large = work.flare(pairs(3, 2, &over).letters(LARGE));
    let brief = work.flare(pairs(4, 2, &meanwhile).letters(LARGE));
    work.begun(2 * SLOTS as usize);
    work.running(&[&spread, &single, &large, &brief]);
    let queued = work.flare(pairs(5, 4, &over));
    assert_eq!(work.now(&queued).state, "queued");
    let before = work.now(&spread).packs;
    assert_eq!(before.len(), 5, "{before:#?}");
    let elsewhere = |pack: &burst_client::Pack| pack.invoker != before[0].invoker;
    assert!(before.iter().any(elsewhere), "{before:#?}");

    let epoch = cluster.epoch();
    let scheduler = cluster.scheduler();
    change(&mut cluster, scheduler, &|| {
        fs::write(&meanwhile, "").unwrap();
    });
    await_next_scheduler(&cluster, epoch);
    cluster.all_up_again();
    for id in [&spread, &single, &large] {
        let flare = work.now(id);
        assert_eq!(flare.state, "running", "it goes on: {flare:#?}");
    }
    fs::write(&over, "").unwrap();
    work.all_succeed_at_once();
    Accepted::default().check(&cluster);
}

/// Waits for a scheduler with a later epoch than this one.
#[track_caller]
fn await_next_scheduler(cluster: &Cluster, epoch: u64) {
    wait::until("a scheduler begins", node::START_LIMIT, || {
        (cluster.epoch() > epoch).then_some(())
    });
}

/// Flares on the invoker are lost, and retried if allowed; those on the other one continue.
#[test]
fn an_invoker_killed_with_the_schedulers_controller_loses_only_its_flares() {
    // Enough for another controller to take over; only then does this time start again, after which lost nodes are
    // given up.
    let setup = two()
        .set("burst.invokers.contact-timeout", "90s")
        .set("burst.invokers.kill-timeout", "1s");
    let mut cluster = Cluster::start(setup);
    let mut work = Work::start(&cluster);
    let file = |name: &str| cluster.scratch().join(name);
    let (free, over) = (file("free"), file("over"));
    let whole = |number, size: u32, file: &Path| {
        let order = Order::new(number, size).until(file);
        order.option("granularity", size)
    };
    // It fills its machine, so that the others are placed together on the other one.
    let kept = work.flare(whole(1, SLOTS, &free));
    work.begun(8);
    let again = work.flare(whole(2, 2, &over).option("retries", 1));
    let once = work.flare(whole(3, 6, &over));
    work.begun(16);
    work.running(&[&kept, &again, &once]);
    let survivor = work.now(&kept).packs[0].invoker.clone();
    let victim = work.now(&once).packs[0].invoker.clone();
    assert_eq!(work.now(&again).packs[0].invoker, victim);

    let scheduler = cluster.scheduler();
    let index = victim.trim_start_matches("invoker").parse().unwrap();
    cluster.kill_controller(scheduler);
    cluster.kill_invoker(index);
    let lost = work.client.ended(&once, LIMIT).unwrap();
    let error = lost.error.as_ref().expect("a reason");
    assert_eq!(error.kind, "invoker-lost", "{lost:#?}");
    assert!(error.message.contains(&victim), "{lost:#?}");
    assert_eq!(lost.attempt, 1, "{lost:#?}");
    let running = work.now(&kept);
    assert_eq!(running.state, "running", "it goes on: {running:#?}");
    fs::write(&free, "").unwrap();
    work.begun(18);
    fs::write(&over, "").unwrap();
    for (id, attempt) in [(&kept, 1), (&again, 2)] {
        let flare = work.client.ended(id, LIMIT).unwrap();
        let order = &work.flares.iter().find(|it| it.1 == *id).unwrap().0;
        work.client.check_outcome(order, &flare).unwrap();
        assert_eq!(flare.attempt, attempt, "{flare:#?}");
        assert_eq!(flare.packs[0].invoker, survivor, "{flare:#?}");
    }
    let runs = work.runs.read();
    for (order, id) in &work.flares {
        let times = if *id == again { 2 } else { 1 };
        let all = order.workers().all(|n| runs.get(&n) == Some(&times));
        assert!(all, "{order:?} ran {runs:?}");
    }
    // It comes back and has nothing left to do.
    cluster.start_invoker(index);
    cluster.all_up();
    Accepted::default().check(&cluster);
}

#[test]
fn flares_survive_repeated_handovers() {
    let wanted = setting("BURST_HANDOVERS", 3);
    let seed = setting("BURST_HANDOVERS_SEED", 1);
    println!("{wanted} hand-overs with seed {seed}");
    let setup = two()
        .limit(Duration::from_secs(1800 + 240 * wanted))
        .set("burst.store.retention.flares", "1000000")
        .set("burst.limits.flares-per-minute", "1000000");
    let mut cluster = Cluster::start(setup);
    let runs = counted::deploy(&cluster);
    let mut random = SmallRng::seed_from_u64(seed);
    let began = Instant::now();
    let clients = Clients::start(&cluster.apis(), &runs, seed);
    let (mut killed, mut stopped) = (0, 0);
    while killed + stopped < wanted && !clients.has_failed() {
        thread::sleep(Duration::from_millis(random.random_range(0..3_000)));
        let (scheduler, epoch) = (cluster.scheduler(), cluster.epoch());
        let kill = random.random_range(0..2) == 0;
        let at = began.elapsed().as_secs();
        if kill {
            println!("{at:4} s: controller{scheduler} is killed");
            cluster.kill_controller(scheduler);
            killed += 1;
        } else {
            println!("{at:4} s: controller{scheduler} is stopped");
            cluster.stop_controller(scheduler);
            stopped += 1;
        }
        cluster.start_controllers(&[scheduler]);
        await_next_scheduler(&cluster, epoch);
        // Otherwise the next one may be ended while it is still finding out what runs.
        if random.random_range(0..3) > 0 {
            cluster.all_up_again();
        }
    }
    cluster.all_up_again();
    let report = clients.stop();
    let seconds = began.elapsed().as_secs();
    println!("{killed} killed and {stopped} stopped in {seconds} s: {report}");
    report.check(&runs);
    Accepted::default().check(&cluster);
}

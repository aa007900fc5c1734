//! Clients that start flares one after another, wait for the end of each, and check the outcome.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use burst_tests::Api;
use burst_tests::counted::{Order, Runs};
use burst_tests::patient::Patient;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How often a flare of which no worker has begun is placed.
const MOST_STARTS: u32 = 3;
const CLIENTS: u64 = 8;
/// How long a flare may take in total: its own seconds, its wait, and hand-overs during it.
const LIMIT: Duration = Duration::from_secs(400);

/// The expected end of a flare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Succeeded,
    Failed,
    Cancelled,
}

/// The running clients.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Report>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    failed: AtomicBool,
    next: AtomicU64,
}

/// What the clients have observed.
#[derive(Default)]
pub(crate) struct Report {
    flares: Vec<(Order, End)>,
    wrong: Vec<String>,
    repeats: usize,
    longest_answer: Duration,
    longest_flare: Duration,
}

impl Clients {
    /// Starts clients that ask all of these APIs. The seed determines their requests, but not which number a flare
    /// gets.
    pub(crate) fn start(apis: &[Api], runs: &Runs, seed: u64) -> Self {
        let shared = Arc::new(Shared::default());
        let client = |number| {
            let mut client = Client {
                shared: Arc::clone(&shared),
                runs: runs.clone(),
                random: SmallRng::seed_from_u64(seed * 1000 + number),
                patient: Patient::new(apis.to_vec(), number as usize),
                report: Report::default(),
            };
            thread::spawn(move || {
                client.work();
                client.report
            })
        };
        Self {
            threads: (0..CLIENTS).map(client).collect(),
            shared,
        }
    }

    /// Returns whether anything has already gone wrong.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Stops after each client has waited for the end of its flare.
    pub(crate) fn stop(mut self) -> Report {
        self.shared.stop.store(true, Ordering::Relaxed);
        let threads = self.threads.drain(..);
        let all = threads.map(|client| client.join().expect("clients do not panic"));
        all.reduce(Report::and).unwrap_or_default()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Report {
    fn and(mut self, other: Self) -> Self {
        self.flares.extend(other.flares);
        self.wrong.extend(other.wrong);
        self.repeats += other.repeats;
        self.longest_answer = self.longest_answer.max(other.longest_answer);
        self.longest_flare = self.longest_flare.max(other.longest_flare);
        self
    }

    /// Checks that nothing went wrong and that each worker ran once, or at most once if its flare was cancelled.
    #[track_caller]
    pub(crate) fn check(&self, runs: &Runs) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        let mut runs = runs.read();
        for (order, end) in &self.flares {
            for n in order.workers() {
                let times = runs.remove(&n).unwrap_or_default();
                let right = times == 1 || times == 0 && *end == End::Cancelled;
                assert!(right, "{n} ran {times} times: {end:?} {order:?}");
            }
        }
        assert!(runs.is_empty(), "nobody has asked for {runs:?}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ends = BTreeMap::<End, usize>::new();
        for (_, end) in &self.flares {
            *ends.entry(*end).or_default() += 1;
        }
        write!(
            to,
            "{} flares {ends:?}, {} requests asked again, longest answer {:.1?}, longest flare {:.1?}",
            self.flares.len(),
            self.repeats,
            self.longest_answer,
            self.longest_flare
        )
    }
}

struct Client {
    shared: Arc<Shared>,
    runs: Runs,
    random: SmallRng,
    patient: Patient,
    report: Report,
}

impl Client {
    fn work(&mut self) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let (order, end) = self.order();
            let began = Instant::now();
            if let Err(wrong) = self.flare(&order, end) {
                self.report.wrong.push(wrong);
                self.shared.failed.store(true, Ordering::Relaxed);
                self.shared.stop.store(true, Ordering::Relaxed);
            }
            let took = began.elapsed();
            self.report.longest_flare = self.report.longest_flare.max(took);
            self.report.flares.push((order, end));
        }
        self.report.repeats = self.patient.repeats;
        self.report.longest_answer = self.patient.longest;
    }

    /// Chooses a flare. Most succeed, within moments or within seconds, in one pack or several; some put out more than
    /// is stored in the database.
    fn order(&mut self) -> (Order, End) {
        let number = 1 + self.shared.next.fetch_add(1, Ordering::Relaxed);
        let size = self.random.random_range(1..=4);
        let most = [1_000, 1_000, 30_000, 400_000][self.random.random_range(0..4)];
        let order = Order::new(number, size)
            .option("granularity", self.random.random_range(1..=size))
            .letters(self.random.random_range(0..most));
        match self.random.random_range(0..10) {
            0..3 => (order.lasting(self.millis(0..200)), End::Succeeded),
            3..7 => (order.lasting(self.millis(1_000..8_000)), End::Succeeded),
            7 | 8 => {
                let order = order.lasting(self.millis(0..5_000));
                (order.fails(self.random.random_range(0..size)), End::Failed)
            }
            _ => (order.lasting(LIMIT), End::Cancelled),
        }
    }

    /// A random number of milliseconds.
    fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.random.random_range(range))
    }

    /// Runs a flare; the error describes what is wrong with its outcome.
    fn flare(&mut self, order: &Order, end: End) -> Result<(), String> {
        let blocking = end != End::Cancelled && self.random.random_range(0..4) == 0;
        let id = self.patient.start(order, &self.runs, blocking)?;
        if end == End::Cancelled {
            thread::sleep(self.millis(0..4_000));
            self.patient.cancel(&id)?;
        }
        let flare = self.patient.ended(&id, LIMIT)?;
        // A flare that had its slots but no pack yet is placed again. The recorded runs show that nothing ran twice.
        if flare.attempt > MOST_STARTS {
            return Err(format!("nobody asked for so many attempts: {flare:#?}"));
        }
        if end != End::Cancelled {
            return self.patient.check_outcome(order, &flare);
        }
        match flare.state == "cancelled" {
            true => Ok(()),
            false => Err(format!("it was to be cancelled: {flare:#?}")),
        }
    }
}

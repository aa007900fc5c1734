//! The flares that see a fault, and what becomes of each.

use std::fmt;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use burst_client::Flare;
use burst_tests::counted::{Order, Runs};
use burst_tests::patient::Patient;
use burst_tests::{Api, Cluster, wait};
use serde::Serialize;

use crate::strikes::Case;

/// How long a flare that runs takes by itself, and one that waits or is new.
const LONG: u64 = 8_000;
const SHORT: u64 = 1_000;
/// What a flare may take in all, whatever the fault: then it hangs.
const LIMIT: Duration = Duration::from_secs(150);

/// What a flare is when the fault comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Kind {
    #[serde(rename = "running")]
    Running,
    #[serde(rename = "running, one retry")]
    Retried,
    #[serde(rename = "queued")]
    Queued,
    #[serde(rename = "new")]
    New,
}

/// What became of a flare.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) fault: &'static str,
    pub(crate) run: u32,
    pub(crate) flare: Kind,
    /// The state it ended in, or what a client was told in its place.
    pub(crate) end: String,
    pub(crate) kind: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) attempts: u32,
    /// How often the worker has begun that began most often.
    pub(crate) begun: usize,
    /// From the first request to the answer that it is accepted.
    pub(crate) accepted_seconds: f64,
    /// From then until its end is seen.
    pub(crate) seconds: f64,
    /// Processes that wanted to run, in the minute before.
    pub(crate) load: f64,
}

impl Row {
    /// Lost, without an end or a reason, or run more often than it was tried.
    pub(crate) fn is_bad(&self) -> bool {
        let ended = match self.end.as_str() {
            "succeeded" => self.kind.is_none() && self.begun >= 1,
            "failed" => self.message.as_ref().is_some_and(|text| !text.is_empty()),
            _ => false,
        };
        !ended || self.begun > self.attempts as usize
    }
}

impl fmt::Display for Row {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{}, run {}: {:?} {} {} after {:.1} s (accepted in {:.1} s), {} attempts, begun {} times",
            self.fault,
            self.run,
            self.flare,
            self.end,
            self.message.as_deref().unwrap_or_default(),
            self.seconds,
            self.accepted_seconds,
            self.attempts,
            self.begun
        )
    }
}

/// The flares of one cluster.
pub(crate) struct Work {
    runs: Runs,
    next: u64,
}

impl Work {
    pub(crate) fn new(runs: Runs) -> Self {
        Self { runs, next: 1 }
    }

    /// Two flares that fill the cluster with a pack of each on every invoker, one that waits behind them, and one that
    /// comes during the fault.
    pub(crate) fn through(&mut self, cluster: &mut Cluster, case: &Case, run: u32) -> Vec<Row> {
        let spread = |work: &mut Self, size: u32| {
            let order = work.order(case, size).millis(LONG);
            order.option("granularity", size / 3)
        };
        let running = spread(self, 12);
        let retried = spread(self, 6).option("retries", 1);
        let load = load();
        let both: u64 = running.workers().chain(retried.workers()).count() as u64;
        let mut watched = vec![
            self.watch(cluster, Kind::Running, running.clone()),
            self.watch(cluster, Kind::Retried, retried.clone()),
        ];
        let all: Vec<u64> = running.workers().chain(retried.workers()).collect();
        let begun = || {
            let runs = self.runs.read();
            all.iter().filter(|n| runs.contains_key(n)).count() as u64
        };
        wait::until_seen("their workers have begun", wait::SOON, begun, |begun| {
            *begun == both
        });
        let queued = self.order(case, 4).millis(SHORT);
        watched.push(self.watch(cluster, Kind::Queued, queued.clone()));
        is_queued(&cluster.apis(), &queued);
        let mend = case.strike(cluster);
        let new = self.order(case, 4).millis(SHORT);
        watched.push(self.watch(cluster, Kind::New, new));
        mend(cluster);
        let seen: Vec<Seen> = watched.into_iter().map(|it| it.join().unwrap()).collect();
        cluster.all_up_again();
        let runs = self.runs.read();
        let row = |seen: Seen| {
            let begun = |n| runs.get(&n).copied().unwrap_or_default();
            let error = seen
                .flare
                .as_ref()
                .ok()
                .and_then(|flare| flare.error.as_ref());
            Row {
                fault: case.name,
                run,
                flare: seen.kind,
                end: match &seen.flare {
                    Ok(flare) => flare.state.to_string(),
                    Err(told) => told.clone(),
                },
                kind: error.map(|error| error.kind.to_string()),
                message: error.map(|error| error.message.clone()),
                attempts: seen.flare.as_ref().map_or(0, |flare| flare.attempt),
                begun: seen.order.workers().map(begun).max().unwrap_or_default(),
                accepted_seconds: seen.accepted.as_secs_f64(),
                seconds: seen.ended.as_secs_f64(),
                load,
            }
        };
        seen.into_iter().map(row).collect()
    }

    fn order(&mut self, case: &Case, size: u32) -> Order {
        self.next += 1;
        Order::new(self.next - 1, size).option("backend", case.backend)
    }

    /// A client that starts a flare and sees it to its end.
    fn watch(&self, cluster: &Cluster, kind: Kind, order: Order) -> JoinHandle<Seen> {
        let mut client = Patient::new(cluster.apis(), 0);
        let runs = self.runs.clone();
        thread::spawn(move || {
            let began = Instant::now();
            let started = client.start(&order, &runs, false);
            let accepted = began.elapsed();
            let flare = started.and_then(|id| {
                let flare = client.ended(&id, LIMIT)?;
                match flare.state == "succeeded" {
                    true => client.is_as_wanted(&order, &flare).map(|()| flare),
                    false => Ok(flare),
                }
            });
            Seen {
                kind,
                order,
                flare,
                accepted,
                ended: began.elapsed() - accepted,
            }
        })
    }
}

/// What a client saw; what went wrong is a sentence.
struct Seen {
    kind: Kind,
    order: Order,
    flare: Result<Flare, String>,
    accepted: Duration,
    ended: Duration,
}

/// Waits until the platform has it: asked for by its key, it is started by nobody twice.
fn is_queued(apis: &[Api], order: &Order) {
    let waits = || {
        let query = burst_client::ListFlaresQuery {
            state: Some(burst_client::FlareState::Queued),
            ..Default::default()
        };
        let found = apis[0]
            .client()
            .list_flares(&query)
            .unwrap()
            .read()
            .unwrap();
        found.len()
    };
    wait::until_seen(&format!("{order:?} waits"), wait::SOON, waits, |count| {
        *count == 1
    });
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

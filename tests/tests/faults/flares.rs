//! The flares that experience a fault, and the outcome of each.

use std::fmt;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use burst_client::{Flare, FlareState, ListFlaresQuery};
use burst_tests::counted::{Order, Runs};
use burst_tests::patient::Patient;
use burst_tests::{Cluster, wait};
use serde::{Deserialize, Serialize};

use crate::strikes::Case;

/// How long a running flare takes without faults, and a queued or new one.
const LONG: Duration = Duration::from_secs(8);
const SHORT: Duration = Duration::from_secs(1);
/// How long a flare may take in total, whatever the fault; if longer, it hangs.
const LIMIT: Duration = Duration::from_secs(150);

/// The state of a flare when the fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// The outcome of a flare.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) fault: String,
    pub(crate) run: u32,
    pub(crate) flare: Kind,
    /// The state it ended in, or the error that the client got instead.
    pub(crate) end: String,
    pub(crate) kind: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) attempts: u32,
    /// How often the worker that began most often has begun.
    pub(crate) begun: usize,
    /// From the first request to the answer that the flare is accepted.
    pub(crate) accepted_seconds: f64,
    /// From then until its end is observed.
    pub(crate) seconds: f64,
    /// The system's load average over the minute before.
    pub(crate) load: f64,
}

impl Row {
    /// Returns whether the flare was lost, ended without a reason, or ran more often than it was tried.
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

    /// Runs two flares that fill the cluster with a pack of each on every invoker, one that waits behind them, and one
    /// that arrives during the fault.
    pub(crate) fn through(&mut self, cluster: &mut Cluster, case: &Case, run: u32) -> Vec<Row> {
        let spread = |work: &mut Self, size: u32| {
            let order = work.order(case, size).lasting(LONG);
            order.option("granularity", size / 3)
        };
        let running = spread(self, 12);
        let retried = spread(self, 6).option("retries", 1);
        let load = load();
        // One after another: packs of four leave room for those of two, but not vice versa.
        let mut watched = vec![self.watch(cluster, Kind::Running, running.clone())];
        self.begun(&running);
        watched.push(self.watch(cluster, Kind::Retried, retried.clone()));
        self.begun(&retried);
        let queued = self.order(case, 4).lasting(SHORT);
        watched.push(self.watch(cluster, Kind::Queued, queued.clone()));
        is_queued(cluster);
        let mend = case.strike(cluster);
        let new = self.order(case, 4).lasting(SHORT);
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
                fault: case.name.to_owned(),
                run,
                flare: seen.kind,
                end: match &seen.flare {
                    Ok(flare) => flare.state.to_string(),
                    Err(error) => error.clone(),
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

    /// Waits until all its workers have begun.
    fn begun(&self, order: &Order) {
        let begun = || {
            let runs = self.runs.read();
            order.workers().filter(|n| runs.contains_key(n)).count()
        };
        let all = |begun: &usize| *begun == order.size() as usize;
        wait::until_seen("its workers have begun", wait::SOON, begun, all);
    }

    fn order(&mut self, case: &Case, size: u32) -> Order {
        self.next += 1;
        Order::new(self.next - 1, size).option("backend", case.backend)
    }

    /// Starts a client that starts a flare and waits for its end.
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
                    true => client.check_outcome(&order, &flare).map(|()| flare),
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

/// What a client observed; errors are sentences.
struct Seen {
    kind: Kind,
    order: Order,
    flare: Result<Flare, String>,
    accepted: Duration,
    ended: Duration,
}

/// Waits until a flare is queued.
fn is_queued(cluster: &Cluster) {
    let look = || {
        let flares = cluster
            .api()
            .client()
            .list_flares(&ListFlaresQuery::default());
        let flares = flares.unwrap().read().unwrap();
        flares
            .into_iter()
            .map(|flare| (flare.created, flare.size, flare.state))
            .collect::<Vec<_>>()
    };
    wait::until_seen("one waits", wait::SOON, look, |flares| {
        flares
            .iter()
            .any(|(_, _, state)| *state == FlareState::Queued)
    });
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

//! Many clients with many small flares, each checked down to the last output.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use burst_client::Waited;
use serde_json::{Value, json};

use crate::{Api, Cluster, read_json, wait};

/// The program, in which each worker writes one greeting to its log and to its output.
pub const PROGRAM: &str = "hello";

/// The most workers of a flare.
const LARGEST: usize = 4;

/// A flare with the expected answer.
#[derive(Debug, Clone)]
pub struct Served {
    /// Its number, which determines all its inputs.
    pub number: usize,
    /// Its id.
    pub id: String,
    /// The time from the call to the answer.
    pub took: Duration,
}

/// Runs flares with these numbers. Each client runs one at a time, and the controllers take turns. The first unexpected
/// answer ends the run.
#[track_caller]
pub fn run(apis: &[Api], clients: usize, numbers: Range<usize>) -> Vec<Served> {
    let next = AtomicUsize::new(numbers.start);
    let client = || {
        let mut served = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(served);
            }
            match flare(&apis[number % apis.len()], number) {
                Ok(flare) => served.push(flare),
                Err(wrong) => {
                    next.store(numbers.end, Ordering::Relaxed);
                    return Err(wrong);
                }
            }
        }
    };
    let ends: Result<Vec<_>, String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        (clients.into_iter())
            .map(|client| client.join().unwrap())
            .collect()
    });
    ends.unwrap_or_else(|wrong| panic!("{wrong}"))
        .into_iter()
        .flatten()
        .collect()
}

fn size(number: usize) -> usize {
    1 + number % LARGEST
}

fn name(number: usize, worker: usize) -> String {
    format!("{number}/{worker}")
}

/// Runs a flare; the error describes how its answer differs from the one expected from its inputs.
fn flare(api: &Api, number: usize) -> Result<Served, String> {
    let size = size(number);
    let params: Vec<Value> = (0..size)
        .map(|worker| json!({"name": name(number, worker)}))
        .collect();
    let asked = Instant::now();
    let request = json!({"params": params, "memory": 16});
    let answer = api.client().flare_and_wait(PROGRAM, &request);
    let took = asked.elapsed();
    let greeting = |worker| {
        let name = name(number, worker);
        format!("Hello, {name}, from worker {worker} of {size}")
    };
    let expected: Vec<Value> = (0..size)
        .map(|worker| json!({"worker": worker, "output": greeting(worker)}))
        .collect();
    if let Ok(Waited::Ended(ended)) = &answer {
        let result = read_json(Ok(ended.clone()));
        if result["state"] == "succeeded" && result["outputs"] == json!(expected) {
            let id = result["flareId"].as_str().unwrap().to_owned();
            return Ok(Served { number, id, took });
        }
    }
    let now = match &answer {
        Ok(Waited::Accepted(accepted)) => match accepted.read() {
            Ok(accepted) => format!("{:#?}", api.client().get_flare(&accepted.flare_id)),
            Err(unreadable) => unreadable.to_string(),
        },
        _ => "ended".into(),
    };
    Err(format!(
        "flare {number} after {took:?}: {answer:#?}, now {now}"
    ))
}

/// Checks that each flare ran once: its id is unique, and each of its workers has greeted once.
#[track_caller]
pub fn ran_once(apis: &[Api], clients: usize, served: &[Served]) {
    let ids: BTreeSet<&str> = served.iter().map(|flare| flare.id.as_str()).collect();
    assert_eq!(ids.len(), served.len(), "two flares with the same id");
    let share = served.len().div_ceil(clients);
    thread::scope(|scope| {
        for (client, flares) in served.chunks(share).enumerate() {
            let api = &apis[client % apis.len()];
            scope.spawn(move || flares.iter().for_each(|flare| greeted_once(api, flare)));
        }
    });
}

#[track_caller]
fn greeted_once(api: &Api, flare: &Served) {
    let logs = api.logs(&flare.id).logs;
    let mut lines: Vec<&str> = logs.iter().map(|line| line.line.as_str()).collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..size(flare.number))
        .map(|worker| format!("greeting {}", name(flare.number, worker)))
        .collect();
    assert_eq!(lines, expected, "flare {}", flare.id);
}

/// Waits until all slots are free.
#[track_caller]
pub fn assert_all_slots_are_free(cluster: &Cluster) {
    let free = || cluster.api().free_slots();
    wait::until_seen("all slots are free", wait::SOON, free, |free| {
        *free == cluster.slots()
    });
}

//! Clients that make one call after another and record what was accepted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::{Value, json};

use super::Callee;
use crate::Api;

/// The header of an answer that refers to an activation.
const ID: &str = "X-OpenWhisk-Activation-Id";

/// A call that was accepted.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The id of its record.
    pub id: String,
    /// Its number.
    pub n: u64,
    /// The thing that was called.
    pub callee: Callee,
    /// The outcome in the answer to the call, if it waited for that: the record's `response`.
    pub response: Option<Value>,
}

/// The outcome of the calls.
#[derive(Debug, Default)]
pub struct Sent {
    /// The accepted calls.
    pub accepted: Vec<Accepted>,
    /// The number of calls sent, accepted or not, by callee.
    pub calls: BTreeMap<Callee, usize>,
    /// The number of refused calls, by status and sentence.
    pub refused: BTreeMap<String, usize>,
    /// The number of calls without an answer.
    pub unanswered: usize,
    /// Answers that must never occur.
    pub wrong: Vec<String>,
}

impl Sent {
    /// A summary in a few lines, for people.
    pub fn summary(&self) -> String {
        format!(
            "{} accepted of {:?}, {} unanswered, refused: {:#?}",
            self.accepted.len(),
            self.calls,
            self.unanswered,
            self.refused
        )
    }

    /// Merges it with another client's.
    pub fn and(mut self, other: Self) -> Self {
        self.accepted.extend(other.accepted);
        self.wrong.extend(other.wrong);
        self.unanswered += other.unanswered;
        for (callee, count) in other.calls {
            *self.calls.entry(callee).or_default() += count;
        }
        for (sentence, count) in other.refused {
            *self.refused.entry(sentence).or_default() += count;
        }
        self
    }
}

/// The load that the clients generate.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The number of clients, each with one call at a time.
    pub clients: u64,
    /// A client's longest pause between two calls.
    pub pause: Duration,
}

/// A running stream of calls. Dropping it stops it.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Sent>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    next: AtomicU64,
    accepted: AtomicUsize,
    refused: AtomicUsize,
}

impl Stream {
    /// Sends calls to the APIs in turn until it is stopped. The seed determines the calls, not their outcome.
    pub fn start(apis: &[Api], seed: u64, pace: Pace) -> Self {
        let shared = Arc::new(Shared::default());
        let client = |number| {
            let client = Client {
                apis: apis.to_vec(),
                shared: Arc::clone(&shared),
                random: SmallRng::seed_from_u64(seed * 1000 + number),
                pause: pace.pause,
                sent: Sent::default(),
            };
            thread::spawn(move || client.run())
        };
        Self {
            clients: (0..pace.clients).map(client).collect(),
            shared,
        }
    }

    /// How many calls have been accepted so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// How many calls have been refused so far.
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::Relaxed)
    }

    /// Stops it and returns the outcome.
    pub fn stop(mut self) -> Sent {
        self.shared.stop.store(true, Ordering::Relaxed);
        let all = self
            .clients
            .drain(..)
            .map(|client| client.join().expect("clients do not panic"));
        all.fold(Sent::default(), Sent::and)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

struct Client {
    apis: Vec<Api>,
    shared: Arc<Shared>,
    random: SmallRng,
    pause: Duration,
    sent: Sent,
}

impl Client {
    fn run(mut self) -> Sent {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.call();
            let longest = self.pause.as_millis().max(1) as u64;
            thread::sleep(Duration::from_millis(self.random.random_range(0..longest)));
        }
        self.sent
    }

    fn call(&mut self) {
        let n = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let callee = match self.random.random_range(0..10) {
            0..4 => Callee::Python,
            4..8 => Callee::Rust,
            8 => Callee::Sequence,
            _ => Callee::Fire,
        };
        let blocking = callee != Callee::Fire && self.random.random_range(0..2) == 0;
        let api = &self.apis[self.random.random_range(0..self.apis.len())];
        let path = format!("namespaces/_/{}?blocking={blocking}", callee.path());
        *self.sent.calls.entry(callee).or_default() += 1;
        let answer = api
            .request(Method::POST, &path)
            .json(&json!({ "n": n }))
            .send();
        let Ok(answer) = answer else {
            self.sent.unanswered += 1;
            return;
        };
        let status = answer.status().as_u16();
        let header = |name| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let (id, retry) = (header(ID), header("Retry-After"));
        let Ok(text) = answer.text() else {
            self.sent.unanswered += 1;
            return;
        };
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        match (status, id) {
            (202, Some(id)) if json["activationId"] == id.as_str() => {
                self.accepted(n, callee, id, None)
            }
            (200 | 500 | 502, Some(id)) if blocking && json["activationId"] == id.as_str() => {
                self.accepted(n, callee, id, Some(json["response"].clone()));
            }
            (429 | 503, None)
                if retry.is_some() && json["error"].is_string() && json["code"].is_string() =>
            {
                let sentence = format!("{status} {}", json["error"].as_str().unwrap_or_default());
                *self.sent.refused.entry(sentence).or_default() += 1;
                self.shared.refused.fetch_add(1, Ordering::Relaxed);
            }
            (_, id) => {
                let problem =
                    format!("{callee:?} {n}: {status} {id:?}, Retry-After {retry:?}: {text}");
                self.sent.wrong.push(problem);
            }
        }
    }

    fn accepted(&mut self, n: u64, callee: Callee, id: String, response: Option<Value>) {
        self.sent.accepted.push(Accepted {
            id,
            n,
            callee,
            response,
        });
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
    }
}

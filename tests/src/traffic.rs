//! A continuous stream of flares and groups, while faults occur.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::{Api, failing};

/// The properties of the requested flares and groups.
#[derive(Debug, Clone)]
pub struct TrafficOptions {
    /// The number of workers of the largest.
    pub size: u32,
    /// How long workers may hold.
    pub hold: Duration,
    /// The backends to choose from.
    pub backends: Vec<&'static str>,
    /// How many of a hundred flares fail by themselves, and how many are cancelled.
    pub bad: u32,
    /// The longest pause between two requests.
    pub pause: Duration,
}

/// The ids of everything that was accepted.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// Flares, including those on groups.
    pub flares: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
}

/// A running stream of requests. Dropping it stops it.
#[derive(Debug)]
pub struct Traffic {
    stop: Arc<AtomicBool>,
    sender: Option<JoinHandle<Sent>>,
}

impl Traffic {
    /// Sends flares of the program `failing` to the APIs in turn until it is stopped. The seed determines the flares,
    /// not their outcome.
    pub fn flares(apis: Vec<Api>, seed: u64, options: TrafficOptions) -> Self {
        Self::start(apis, seed, options, Sender::flare)
    }

    /// Opens groups of the program `failing`, one after another, and sends flares to each. Some are closed, others
    /// abandoned.
    pub fn groups(apis: Vec<Api>, seed: u64, options: TrafficOptions) -> Self {
        Self::start(apis, seed, options, Sender::group)
    }

    fn start(apis: Vec<Api>, seed: u64, options: TrafficOptions, send: fn(&mut Sender)) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let sender = thread::spawn(move || {
            let mut sender = Sender {
                apis,
                turn: 0,
                random: SmallRng::seed_from_u64(seed),
                options,
                sent: Sent::default(),
            };
            while !is_stopped.load(Ordering::Relaxed) {
                send(&mut sender);
                sender.pause();
            }
            sender.sent
        });
        Self {
            stop,
            sender: Some(sender),
        }
    }

    /// Stops it and returns everything that was accepted.
    pub fn stop(mut self) -> Sent {
        self.stop.store(true, Ordering::Relaxed);
        self.sender.take().unwrap().join().unwrap()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Sender {
    apis: Vec<Api>,
    turn: usize,
    random: SmallRng,
    options: TrafficOptions,
    sent: Sent,
}

impl Sender {
    fn flare(&mut self) {
        let size = self.random.random_range(1..=self.options.size);
        let (params, cancel) = self.input(size);
        let mut body = self.shape(size);
        body["params"] = params;
        body["retries"] = json!(self.random.random_range(0..2));
        body["timeout"] = json!(60_000);
        let id = self.api().try_flare(failing::NAME, &body);
        self.accepted(id, cancel);
    }

    fn group(&mut self) {
        let size = self.random.random_range(1..=self.options.size);
        let mut body = self.shape(size);
        body["definition"] = json!(failing::NAME);
        body["idleTimeout"] = json!(self.random.random_range(1_000..=10_000));
        let Some(group) = self.api().try_group(&body) else {
            return;
        };
        self.sent.groups.push(group.clone());
        for _ in 0..self.random.random_range(0..5) {
            let (params, cancel) = self.input(size);
            let body = json!({"params": params, "timeout": 60_000});
            let id = self.api().try_flare_on(&group, &body);
            self.accepted(id, cancel);
            self.pause();
        }
        if self.random.random_range(0..3) > 0 {
            let _ = self.api().client().close_group(&group);
        }
    }

    fn accepted(&mut self, id: Option<String>, cancel: bool) {
        if let Some(id) = id {
            if cancel {
                self.api().try_cancel(&id);
            }
            self.sent.flares.push(id);
        }
    }

    /// The input for this many workers, and whether the flare is to be cancelled.
    fn input(&mut self, size: u32) -> (Value, bool) {
        let TrafficOptions { hold, bad, .. } = self.options;
        let chance = self.random.random_range(0..100);
        let params = if chance < bad {
            let ways = ["error", "panic", "abort", "exit"];
            let who = self.random.random_range(0..size);
            failing::input(ways[self.random.random_range(0..ways.len())], who)
        } else {
            let time = self.random.random_range(0..=hold.as_millis() as u64);
            failing::hold(Duration::from_millis(time))
        };
        (params, (bad..2 * bad).contains(&chance))
    }

    /// The request for this many workers: their placement and backend.
    fn shape(&mut self, size: u32) -> Value {
        let packings = burst_client::Packing::NAMES;
        let backends = self.options.backends.len();
        let mut body = json!({
            "size": size,
            "packing": packings[self.random.random_range(0..packings.len())],
            "backend": self.options.backends[self.random.random_range(0..backends)],
        });
        if self.random.random_range(0..2) == 0 {
            body["granularity"] = json!(self.random.random_range(1..=size));
        }
        body
    }

    fn api(&mut self) -> &Api {
        self.turn += 1;
        &self.apis[self.turn % self.apis.len()]
    }

    fn pause(&mut self) {
        let longest = self.options.pause.as_millis() as u64;
        thread::sleep(Duration::from_millis(self.random.random_range(1..=longest)));
    }
}

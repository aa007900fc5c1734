//! Flares that keep coming, whatever breaks meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{Api, failing};

/// What flares are asked for.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// Workers of the largest.
    pub size: u32,
    /// How long workers may hold, in milliseconds.
    pub hold: u64,
    /// Backends to choose from.
    pub backends: Vec<&'static str>,
    /// Of a hundred flares so many fail by themselves, and so many are cancelled.
    pub bad: u32,
    /// The longest pause between two.
    pub pause: Duration,
}

/// Flares under way. Dropping it stops it, too.
#[derive(Debug)]
pub struct Traffic {
    stop: Arc<AtomicBool>,
    sender: Option<JoinHandle<Vec<String>>>,
}

impl Traffic {
    /// Sends flares of the program `failing` to the APIs in turn until it is stopped. What the flares
    /// are is up to the seed; what becomes of them is not.
    pub fn start(apis: Vec<Api>, seed: u64, wishes: Wishes) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let sender = thread::spawn(move || {
            let mut random = SmallRng::seed_from_u64(seed);
            let mut accepted = Vec::new();
            let mut turn = apis.iter().cycle();
            while !told.load(Ordering::Relaxed) {
                let api = turn.next().unwrap();
                let (body, cancel) = wish(&mut random, &wishes);
                if let Some(id) = api.try_flare(failing::NAME, &body) {
                    if cancel {
                        // Whether that came in time, or arrived at all, is not promised.
                        let path = format!("namespaces/_/flares/{id}");
                        let _ = api.request(Method::DELETE, &path).send();
                    }
                    accepted.push(id);
                }
                let pause = wishes.pause.as_millis() as u64;
                thread::sleep(Duration::from_millis(random.random_range(1..=pause)));
            }
            accepted
        });
        Self {
            stop,
            sender: Some(sender),
        }
    }

    /// Stops it and gives the ids of all that were accepted.
    pub fn stop(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.sender.take().unwrap().join().unwrap()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A request, and whether it is to be cancelled.
fn wish(random: &mut SmallRng, wishes: &Wishes) -> (Value, bool) {
    let size = random.random_range(1..=wishes.size);
    let chance = random.random_range(0..100);
    let params = if chance < wishes.bad {
        let ways = ["error", "panic", "abort", "exit"];
        let who = random.random_range(0..size);
        failing::input(ways[random.random_range(0..ways.len())], who)
    } else {
        failing::hold(random.random_range(0..=wishes.hold))
    };
    let packings = ["mixed", "homogeneous", "heterogeneous"];
    let mut body = json!({
        "size": size,
        "params": params,
        "packing": packings[random.random_range(0..packings.len())],
        "backend": wishes.backends[random.random_range(0..wishes.backends.len())],
        "retries": random.random_range(0..2),
        "timeout": 60_000,
    });
    if random.random_range(0..2) == 0 {
        body["granularity"] = json!(random.random_range(1..=size));
    }
    (body, (wishes.bad..2 * wishes.bad).contains(&chance))
}

//! Measures how one namespace at its limits affects another namespace's flares.

use crate::report::Report;
use crate::summary::Summary;
use burst_client::Waited;
use burst_tests::{Api, Driver, Platform, Settings};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The slots of the greedy namespace. The other one has as many as it needs.
const GREEDY: u32 = 6;

/// The flares that the greedy namespace starts. Each client starts one flare after another.
struct Load {
    name: &'static str,
    clients: usize,
    request: fn() -> Value,
}

const LOADS: [Load; 4] = [
    Load {
        name: "writes empty lines as fast as 6 workers can",
        clients: 1,
        request: || json!({"size": GREEDY, "params": {"lines": 800_000}}),
    },
    Load {
        name: "has 6 workers put out 16 MB each",
        clients: 1,
        request: || json!({"size": GREEDY, "params": {"output": 16_000_000}}),
    },
    Load {
        name: "starts flares from 32 clients",
        clients: 32,
        request: || json!({"size": 1, "params": {}}),
    },
    Load {
        name: "starts flares with inputs of 8 MB from 8 clients",
        clients: 8,
        request: || json!({"size": 1, "params": {"ignored": "x".repeat(8_000_000)}}),
    },
];

impl Load {
    /// Runs until `over` is set. Rejected requests are ignored.
    ///
    /// In production, clients run on other machines. Here they get a lower priority than the
    /// platform, and create the request body only once.
    fn run(&self, base: &str, auth: &str, over: &AtomicBool) {
        rustix::process::nice(19).expect("anybody may be nicer");
        // Created on this thread, so that the client's threads inherit its priority.
        let api = Api::new(base, auth);
        let body = (self.request)().to_string();
        thread::scope(|scope| {
            for _ in 0..self.clients {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let request = api
                            .request(Method::POST, "namespaces/_/bursts/burden?blocking=true")
                            .header("Content-Type", "application/json")
                            .body(body.clone());
                        api.send(request);
                    }
                });
            }
        });
    }
}

pub fn measure(runs: usize, report: &mut Report) {
    for load in LOADS {
        let settings = Settings::new(Driver::Process).limit(Duration::from_secs(600));
        let platform = Platform::start(settings);
        let quiet = platform.api();
        let slots = GREEDY.to_string();
        let created = platform
            .cli_setup()
            .properties(platform.data().join("properties"))
            .run(&[
                "admin",
                "namespace",
                "create",
                "greedy",
                "--slots",
                &slots,
                "--output",
                "json",
            ])
            .exits(0)
            .json();
        let greedy = Api::new(quiet.base(), created["auth"].as_str().unwrap());
        crate::deploy(&platform, "noop");
        crate::deploy_as(&greedy, "burden");
        latency(quiet, 20 * runs);
        let alone = latency(quiet, 20 * runs);
        let over = AtomicBool::new(false);
        let beside = thread::scope(|scope| {
            scope.spawn(|| load.run(quiet.base(), &greedy.auth(), &over));
            thread::sleep(Duration::from_secs(3));
            let beside = latency(quiet, 20 * runs);
            over.store(true, Ordering::Relaxed);
            beside
        });
        report.add(
            format!("flare of 2 workers while another namespace {}", load.name),
            "ms",
            beside,
            Some(("the same alone", alone)),
            "≤ 3 ×",
        );
    }
}

/// Returns the time from request to result of a small flare on a warm pack, in milliseconds.
fn latency(api: &Api, count: usize) -> Summary {
    let request = json!({"size": 2, "params": {}});
    let times = (0..count).map(|_| {
        let start = Instant::now();
        let waited = api.client().flare_and_wait("noop", &request).unwrap();
        let time = start.elapsed().as_secs_f64() * 1e3;
        assert!(matches!(waited, Waited::Ended(_)), "it goes on");
        time
    });
    Summary::of(times.collect())
}

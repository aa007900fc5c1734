//! Invocations of one namespace while another's actions fail in various ways.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Api, Driver, Platform, Settings, Tenants};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The clients of the namespace whose actions fail. Each makes one call after another.
const CLIENTS: usize = 4;

/// The name of each fault, a program that has it, and the program's timeout.
const FAULTS: [(&str, &str, Duration); 4] = [
    (
        "crash",
        "import os\ndef main(args):\n    os._exit(1)\n",
        Duration::from_secs(60),
    ),
    (
        "meet their time-out",
        "import time\ndef main(args):\n    time.sleep(600)\n",
        Duration::from_millis(500),
    ),
    (
        "write endless logs",
        "def main(args):\n    while True:\n        print('x' * 100)\n",
        Duration::from_secs(2),
    ),
    (
        "start slowly",
        "import time\ntime.sleep(600)\ndef main(args):\n    return {}\n",
        Duration::from_millis(500),
    ),
];

pub fn measure(runs: usize, report: &mut Report) {
    for (fault, code, timeout) in FAULTS {
        let settings = Settings::new(Driver::Process).limit(Duration::from_secs(600));
        let platform = Platform::start(settings);
        let Tenants { first, second } = Tenants::two(&platform);
        store(first.api(), "bad", code, timeout);
        store(
            second.api(),
            "good",
            "def main(args):\n    return {}\n",
            Duration::from_secs(60),
        );
        let good = || Summary::of((0..20 * runs).map(|_| called(second.api())).collect());
        good();
        let alone = good();
        let over = AtomicBool::new(false);
        let beside = thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let answer = first.api().invoke("bad", &json!({}));
                        assert_eq!(answer.status, 502, "{}", answer.text);
                    }
                });
            }
            thread::sleep(Duration::from_secs(3));
            let beside = good();
            over.store(true, Ordering::Relaxed);
            beside
        });
        report.add(
            format!("invocation while another namespace's actions {fault}"),
            "ms",
            beside,
            Some(("the same alone", alone)),
            "<= 3 x",
        );
    }
}

fn store(api: &Api, name: &str, code: &str, timeout: Duration) {
    let exec = json!({"kind": "python:default", "code": code});
    let body =
        json!({"exec": exec, "limits": {"timeout": timeout.as_millis() as u64, "memory": 128}});
    api.put_action(name, &body);
}

/// Calls an action and returns the time from request to result, in milliseconds.
fn called(api: &Api) -> f64 {
    let asked = Instant::now();
    let answer = api.invoke_for_result("good", &json!({}));
    let took = asked.elapsed();
    answer.expect::<Value>(200);
    took.as_secs_f64() * 1e3
}

//! More work than fits, and neighbours whose actions fail in every possible way.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use burst_tests::{Api, Driver, Platform, Settings, Tenants};
use reqwest::Method;
use reqwest::blocking::Response;
use serde_json::{Value, json};

/// How many flares of a namespace may wait.
const QUEUE: usize = 10;
const SLOTS: u32 = 2;

/// Runs until a file exists.
const HELD: &str = "
import os, time

def main(args):
    while not os.path.exists(args['go']):
        time.sleep(0.02)
    return {'n': args['n']}
";

/// Calls beyond the queue are refused immediately with the limit and a time to retry, blocking or not; accepted calls
/// run, and other namespaces are served all the time.
#[test]
fn a_full_queue_refuses_calls_with_a_retry_time() {
    let settings = Settings::new(Driver::Process)
        .slots(SLOTS)
        .set("burst.scheduler.namespace-queue-limit", &QUEUE.to_string());
    let platform = Platform::start(settings);
    let go = platform.data().join("go");
    let Tenants { first, second } = Tenants::two(&platform);
    for tenant in [&first, &second] {
        store(tenant.api(), "held", HELD, json!({"timeout": 600_000}));
    }
    let mut accepted = Vec::new();
    let mut refused = 0;
    for n in 0..40 {
        // Some calls are blocking, once the queue is full.
        let blocking = refused > 0 && n % 2 == 0;
        let path = format!("actions/held?blocking={blocking}");
        let answer = call(first.api(), &path, &json!({"n": n, "go": go}));
        if answer.status() == 202 {
            accepted.push((n, id(answer)));
        } else {
            refused += 1;
            assert_eq!(answer.status(), 429);
            let pause = answer.headers()["Retry-After"].to_str().unwrap().to_owned();
            assert!(pause.parse::<u32>().unwrap() >= 1, "{pause}");
            let body: Value = answer.json().unwrap();
            let sentence = body["error"].as_str().unwrap();
            assert!(sentence.contains(&format!("{QUEUE} ")), "{sentence}");
            assert!(sentence.contains("wait"), "{sentence}");
        }
    }
    assert_eq!(accepted.len() + refused, 40);
    let most = QUEUE + SLOTS as usize;
    assert!(
        (QUEUE..=most).contains(&accepted.len()),
        "{}",
        accepted.len()
    );
    // The other namespace has a queue of its own.
    let own = second.api().begin("held", &json!({"n": 100, "go": go}));
    fs::write(&go, "").unwrap();
    for (n, id) in &accepted {
        succeeds(first.api(), id, *n);
    }
    succeeds(second.api(), &own, 100);
    let counted = first.api().count_activations(None);
    assert_eq!(counted, accepted.len() as u64);
    let again = first.api().invoke("held", &json!({"n": 7, "go": go}));
    assert_eq!(again.status, 200, "{}", again.text);
}

/// Faulty actions, each with its timeout and the expected error.
const BAD: [(&str, &str, u64, &str); 5] = [
    (
        "crashes",
        "import os\ndef main(args):\n    os._exit(1)\n",
        60_000,
        "did not produce a valid response",
    ),
    (
        "hangs",
        "import time\ndef main(args):\n    time.sleep(600)\n",
        500,
        "exceeded its time limits",
    ),
    (
        "chatters",
        "def main(args):\n    while True:\n        print('x' * 100)\n",
        1_000,
        "exceeded its time limits",
    ),
    (
        "dawdles",
        "import time\ntime.sleep(600)\ndef main(args):\n    return {}\n",
        1_000,
        "exceeded its time limits",
    ),
    (
        "eats",
        "def main(args):\n    all = []\n    while True:\n        all.append(bytearray(1 << 20))\n",
        // It takes a fifth of a second, and more if the machine stalls for a while. The timeout is shorter than a call
        // is waited for, so that the answer would name the cause.
        50_000,
        "MemoryError",
    ),
];

/// While one namespace's actions fail continuously in all these ways, all of another's succeed.
#[test]
fn failures_in_one_namespace_do_not_affect_another() {
    const CALLS: u64 = 100;
    let platform = Platform::lent(Settings::new(Driver::Process));
    let Tenants { first, second } = Tenants::two(&platform);
    for (name, code, timeout, _) in BAD {
        let limits = json!({"timeout": timeout, "memory": 128});
        store(first.api(), name, code, limits);
    }
    store(
        second.api(),
        "good",
        "def main(args):\n    return {'n': args['n']}\n",
        json!({}),
    );
    let is_over = AtomicBool::new(false);
    let bad = |name: &str, expected: &str| {
        let mut ended = 0;
        while ended == 0 || !is_over.load(Ordering::Relaxed) {
            let record: Value = first.api().invoke(name, &json!({})).expect(502);
            let error = &record["response"]["result"]["error"];
            assert!(
                error.as_str().unwrap().contains(expected),
                "{name}: {record:#}"
            );
            ended += 1;
        }
        ended
    };
    let ended: Vec<usize> = thread::scope(|scope| {
        let faults: Vec<_> = (BAD.iter())
            .map(|(name, _, _, expected)| scope.spawn(move || bad(name, expected)))
            .collect();
        for n in 0..CALLS {
            let record: Value = second.api().invoke("good", &json!({"n": n})).expect(200);
            assert_eq!(record["response"]["result"]["n"], n, "{record:#}");
        }
        is_over.store(true, Ordering::Relaxed);
        faults.into_iter().map(|it| it.join().unwrap()).collect()
    });
    println!("{CALLS} calls beside {ended:?} that failed");
    assert_eq!(second.api().count_activations(Some("good")), CALLS);
    let counted = first.api().count_activations(None);
    assert_eq!(counted, ended.iter().sum::<usize>() as u64);
}

#[track_caller]
fn store(api: &Api, name: &str, code: &str, limits: Value) {
    let body = json!({"exec": {"kind": "python:default", "code": code}, "limits": limits});
    api.put_action(name, &body);
}

#[track_caller]
fn call(api: &Api, path: &str, body: &Value) -> Response {
    let request = api.request(Method::POST, &format!("namespaces/_/{path}"));
    request.json(body).send().unwrap()
}

#[track_caller]
fn id(answer: Response) -> String {
    let body: Value = answer.json().unwrap();
    body["activationId"].as_str().unwrap().to_owned()
}

/// Waits for a record, and checks its result.
#[track_caller]
fn succeeds(api: &Api, id: &str, n: u64) {
    let record = api.ended_activation(id);
    assert_eq!(record["response"]["result"]["n"], n, "{record:#}");
}

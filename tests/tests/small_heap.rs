//! A platform with little memory, and at least twice as much work as it can do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use burst_tests::{Api, Driver, Platform, Settings, node, wait};
use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};

const TIME: Duration = Duration::from_secs(10);
/// The limit if clients are so slow that it is not overloaded by then.
const LONGEST: Duration = Duration::from_secs(90);

const SLOTS: u32 = 2;

/// Takes a second, so at most `SLOTS` per second can be served, however fast the machine is: the clients demand twice
/// as much even on a slow machine.
const WORK: &str = "
import time

def main(args):
    time.sleep(1)
    return {'n': args['n'], 'size': len(args['load'])}
";

const PASS: &str = "
def main(args):
    return {'n': args['n'], 'load': args['load']}
";

/// How an action is called.
#[derive(Debug, Clone, Copy)]
enum CallKind {
    /// Nobody waits for the result.
    Begun,
    Waited,
    Sequence,
    Web,
}

const CALL_KINDS: [CallKind; 4] = [
    CallKind::Begun,
    CallKind::Waited,
    CallKind::Sequence,
    CallKind::Web,
];
const CLIENTS: u64 = 32;

/// The number of answers of each kind.
#[derive(Default)]
struct Answers {
    work: AtomicU64,
    sequences: AtomicU64,
    refused: AtomicU64,
    busy: AtomicU64,
}

#[test]
fn excess_calls_are_refused_and_accepted_ones_run_once() {
    let settings = Settings::new(Driver::Process)
        .slots(SLOTS)
        .surroundings("export JDK_JAVA_OPTIONS=-Xmx256m")
        // So that accepted calls end within seconds.
        .set("burst.scheduler.namespace-queue-limit", "60")
        // So that strangers' bodies already exceed the limit, however fast the machine is.
        .set("burst.http.web-bodies-rate", "128KiB")
        .set("burst.http.web-bodies-burst", "512KiB");
    let platform = Platform::start(settings);
    let api = platform.api();
    let python = |code: &str| json!({"kind": "python:default", "code": code});
    store(api, "work", python(WORK));
    store(api, "pass", python(PASS));
    let components = json!(["/_/pass", "/_/work"]);
    store(
        api,
        "both",
        json!({"kind": "sequence", "components": components}),
    );

    let (answers, next) = (Answers::default(), AtomicU64::new(0));
    let count = |answers: &AtomicU64| answers.load(Ordering::Relaxed);
    let began = Instant::now();
    let is_overloaded = || {
        let twice_what_can_be_served = 2 * u64::from(SLOTS) * began.elapsed().as_secs();
        let twice = count(&next) >= twice_what_can_be_served;
        twice && count(&answers.refused) > 0 && count(&answers.busy) > 0
    };
    let was_overloaded = AtomicBool::new(false);
    let continues = || {
        if began.elapsed() >= TIME && is_overloaded() {
            was_overloaded.store(true, Ordering::Relaxed);
        }
        !was_overloaded.load(Ordering::Relaxed) && began.elapsed() < LONGEST
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (answers, next, continues) = (&answers, &next, &continues);
            scope.spawn(move || {
                let kind = CALL_KINDS[(client / 4) as usize % CALL_KINDS.len()];
                // Sixty waiting calls with the largest size are a fifth of the heap: they are kept on the disk.
                let size = [10, 10, 100_000, 900_000][(client % 4) as usize];
                while continues() {
                    call(
                        api,
                        kind,
                        next.fetch_add(1, Ordering::Relaxed),
                        size,
                        answers,
                    );
                }
            });
        }
    });
    let (work, sequences) = (count(&answers.work), count(&answers.sequences));
    let (sent, accepted) = (count(&next), work + sequences);
    let (refused, busy) = (count(&answers.refused), count(&answers.busy));
    println!("{sent} sent: {accepted} accepted, {refused} too many, {busy} too much at once");
    assert_eq!(accepted + refused + busy, sent);
    assert!(accepted > 0, "it serves nobody");
    assert!(
        was_overloaded.into_inner(),
        "it is not overloaded in every way"
    );

    // Everything that was accepted has run exactly once.
    recorded(api, "both", sequences);
    recorded(api, "pass", sequences);
    recorded(api, "work", work + sequences);
    let ordinary = || {
        let request = request(api, CallKind::Waited, 7, 10);
        api.send(request)
    };
    let seen = wait::until_seen("it serves", wait::SOON, ordinary, |seen| seen.status != 429);
    assert_eq!(seen.status, 200, "{}", seen.text);
    assert_eq!(seen.json["response"]["result"], json!({"n": 7, "size": 10}));
    let log = node::read_log(&platform.log_file());
    assert!(!log.contains("OutOfMemoryError"), "{log}");
}

#[track_caller]
fn store(api: &Api, name: &str, exec: Value) {
    let body = json!({"exec": exec, "annotations": [{"key": "web-export", "value": true}]});
    api.put_action(name, &body);
}

fn request(api: &Api, kind: CallKind, n: u64, size: usize) -> RequestBuilder {
    let own = |path: &str| api.request(Method::POST, &format!("namespaces/_/actions/{path}"));
    let request = match kind {
        CallKind::Begun => own("work"),
        CallKind::Waited => own("work?blocking=true"),
        CallKind::Sequence => own("both?blocking=true"),
        CallKind::Web => api.anonymous(Method::POST, "web/guest/default/work.json"),
    };
    request.json(&json!({"n": n, "load": "x".repeat(size)}))
}

/// Makes a call and counts its answer; any malformed answer fails the test.
#[track_caller]
fn call(api: &Api, kind: CallKind, n: u64, size: usize, answers: &Answers) {
    let answer = request(api, kind, n, size)
        .send()
        .unwrap_or_else(|cause| panic!("{kind:?}: no answer: {cause:?}"));
    let status = answer.status().as_u16();
    let pause = answer.headers().get("Retry-After");
    let pause = pause.map(|it| it.to_str().unwrap().parse::<u32>().unwrap());
    let text = answer.text().unwrap();
    let body: Value = serde_json::from_str(&text).unwrap();
    let sentence = body["error"].as_str().unwrap_or_default();
    let counter = match (status, kind) {
        (200, _) => {
            let result = match kind {
                CallKind::Web => &body,
                _ => &body["response"]["result"],
            };
            assert_eq!(*result, json!({"n": n, "size": size}), "{kind:?}: {text}");
            accepted(kind, answers)
        }
        // A call is waited for no longer than the API allows, and recorded all the same.
        (202, _) => accepted(kind, answers),
        (429, _) if sentence.contains(|it: char| it.is_ascii_digit()) => &answers.refused,
        (503, _) if sentence.contains("as much as it can hold") => &answers.busy,
        _ => panic!("{kind:?} with {size} bytes: {status}: {text}"),
    };
    if matches!(status, 429 | 503) {
        assert!(
            pause.is_some_and(|it| it >= 1),
            "{kind:?}: {pause:?}: {text}"
        );
    }
    counter.fetch_add(1, Ordering::Relaxed);
}

fn accepted(kind: CallKind, answers: &Answers) -> &AtomicU64 {
    match kind {
        CallKind::Sequence => &answers.sequences,
        _ => &answers.work,
    }
}

/// Waits until an action has this many records, and checks that it has no more.
#[track_caller]
fn recorded(api: &Api, name: &str, runs: u64) {
    let count = || api.count_activations(Some(name));
    let counted = wait::until_seen(
        &format!("{runs} of {name} are recorded"),
        4 * wait::SOON,
        count,
        |counted| *counted >= runs,
    );
    assert_eq!(counted, runs, "{name}");
}

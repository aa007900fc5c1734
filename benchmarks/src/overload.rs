//! Sends twice the invocations that can be served, for minutes, to a platform with 256 MiB of heap: measures how many
//! are rejected, and the memory after each minute.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Api, Driver, Platform, Settings, command, processes};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The duration of the load without overload.
const ALONE: Duration = Duration::from_secs(30);
const THIRD: Duration = Duration::from_secs(60);
const CLIENTS: usize = 32;
const ACTION: &str = "nothing";

/// Counts of the platform's responses.
#[derive(Default)]
struct Answers {
    accepted: AtomicU64,
    refused: AtomicU64,
}

pub fn measure(report: &mut Report) {
    let settings = Settings::new(Driver::Process)
        .surroundings("export JDK_JAVA_OPTIONS=-Xmx256m")
        .set("burst.limits.flares-per-minute", "1000000")
        .set("burst.limits.requests-per-minute", "1000000")
        .limit(Duration::from_secs(900));
    let platform = Platform::start(settings);
    let code = "def main(args):\n    return {}\n";
    let exec = json!({"exec": {"kind": "python:default", "code": code}});
    platform.api().put_action(ACTION, &exec);
    call(platform.api(), true, &Answers::default());

    let alone = load(&platform, true, ALONE, || ());
    let served = alone.0.accepted.into_inner() as f64 / alone.1;
    report.add("blocking invocations served", "1/s", one(served), None, "");

    let mut memory = vec![held(&platform)];
    let (answers, seconds) = load(&platform, false, THIRD * 3, || {
        for _ in 0..3 {
            thread::sleep(THIRD);
            memory.push(held(&platform));
        }
    });
    let accepted = answers.accepted.into_inner() as f64 / seconds;
    let refused = answers.refused.into_inner() as f64 / seconds;
    let reference = Some(("served", one(served)));
    let sent = one(accepted + refused);
    report.add(
        "overload: invocations sent",
        "1/s",
        sent,
        reference,
        ">= 2 x",
    );
    report.add("overload: accepted", "1/s", one(accepted), reference, "");
    report.add(
        "overload: refused with 429 or 503",
        "1/s",
        one(refused),
        None,
        "",
    );
    for (what, figure) in [("heap after a collection", 0), ("resident", 1)] {
        let first = one(memory[1][figure]);
        for (minute, held) in memory.iter().enumerate().skip(1) {
            report.add(
                format!("overload: {what} after {minute} min, JVM of 256 MiB"),
                "MiB",
                one(held[figure]),
                Some(("after one", first)),
                "flat",
            );
        }
    }
}

/// Runs clients that make one call after another for `time`. Returns their responses and the actual seconds.
fn load(
    platform: &Platform,
    blocking: bool,
    time: Duration,
    meanwhile: impl FnOnce(),
) -> (Answers, f64) {
    let (answers, over) = (Answers::default(), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    call(platform.api(), blocking, &answers);
                }
            });
        }
        meanwhile();
        thread::sleep(time.saturating_sub(began.elapsed()));
        over.store(true, Ordering::Relaxed);
    });
    (answers, began.elapsed().as_secs_f64())
}

/// Calls the action and counts the response. Any response that is neither an acceptance nor a proper rejection ends
/// the run.
fn call(api: &Api, blocking: bool, answers: &Answers) {
    let path = format!("namespaces/_/actions/{ACTION}?blocking={blocking}");
    let request = api.request(Method::POST, &path).json(&json!({}));
    let answer = request.send().expect("an answer");
    let status = answer.status().as_u16();
    let pause = answer.headers().contains_key("Retry-After");
    let body: Value = answer.json().expect("JSON");
    match status {
        200 if blocking => answers.accepted.fetch_add(1, Ordering::Relaxed),
        202 if !blocking => answers.accepted.fetch_add(1, Ordering::Relaxed),
        429 | 503 if pause && body["error"].is_string() => {
            answers.refused.fetch_add(1, Ordering::Relaxed)
        }
        _ => panic!("{status}: {body:#}"),
    };
}

fn one(figure: f64) -> Summary {
    Summary::of(vec![figure])
}

/// Returns the MiB of live objects after a collection, and of resident memory then.
fn held(platform: &Platform) -> [f64; 2] {
    let mut jcmd = Command::new("jcmd");
    let histogram = jcmd.args([&platform.pid().to_string(), "GC.class_histogram"]);
    let finished = command::run(histogram, Duration::from_secs(60)).exits(0);
    let total = finished
        .stdout
        .lines()
        .rfind(|line| line.starts_with("Total"));
    let bytes: f64 = total
        .unwrap()
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap();
    let mebibyte = f64::from(1 << 20);
    let resident = processes::resident_bytes(platform.pid()) as f64;
    [bytes / mebibyte, resident / mebibyte]
}

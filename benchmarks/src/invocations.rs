//! Blocking invocations of actions that do nothing: the latency for one client, the throughput for 32, and the
//! processor time per call, compared with flares of one worker and a bare HTTP server. Everything is measured with
//! `wrk`.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::command::{self, Lines};
use burst_tests::{Api, Driver, Platform, Settings, built, docker, package, processes, wait};
use reqwest::Method;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The kinds with a launcher of the platform, each with an action that does nothing.
const KINDS: [(&str, &str); 2] = [
    ("python", "def main(args):\n    return {}\n"),
    ("nodejs", "function main() { return {}; }"),
];

/// An action that implements the action loop.
const LOOP: &str = "#!/usr/bin/env python3
import sys
with open(3, 'w') as answers:
    for line in sys.stdin:
        answers.write('{}\\n')
        answers.flush()
";

/// An action that is started for each call.
const SCRIPT: &str = "#!/bin/sh\necho '{}'\n";

/// An image that implements OpenWhisk's container contract.
const IMAGE: &str = "burst-benchmark-noop";
const SERVER: &str = include_str!("../reference/image/server.py");

/// How long a platform counts as just started, after its first response.
const FRESH: Duration = Duration::from_secs(3);
const LOAD: Duration = Duration::from_secs(10);
/// The number of warm-up loads. They take a minute, after which the JVM has compiled the code in use.
const WARMING: usize = 6;
const CLIENTS: usize = 32;
/// More slots than processors: workers that do nothing leave a slot's processor idle while their response is on its
/// way.
const SLOTS: u32 = 16;
const ACTIONS: usize = 100;
const LIMIT: Duration = Duration::from_secs(900);
/// Two heartbeats, after which the pre-warmed containers have the interpreter that was last asked for.
const REST: Duration = Duration::from_secs(2);

pub fn measure(runs: usize, report: &mut Report) {
    let bare = Bare::start();
    bare.load();
    let reference = one(bare.load());
    report.add(
        "bare HTTP server, 32 clients of wrk",
        "1/s",
        reference,
        None,
        "",
    );
    let flare = ("bursts/noop".to_owned(), json!({"size": 1, "params": {}}));
    let action = |name: &str| (format!("actions/{name}"), json!({}));
    let calls = [
        ("flare of one worker", flare),
        ("python", action("python")),
        ("nodejs", action("nodejs")),
        ("action loop", action("loop")),
        ("script, started for each call", action("script")),
    ];
    let fresh: Vec<_> = calls.iter().map(|(_, call)| just_started(call)).collect();
    let platform = callable();
    let wrk = Wrk::new(platform.api(), platform.scratch());
    for (_, call) in &calls {
        called(platform.api(), call);
    }
    let (kind, call) = &calls[1];
    let loads: Vec<_> = (0..WARMING).map(|_| wrk.load(call, 1)).collect();
    report.add(
        format!("{kind}, first ten seconds of load, 32 clients of wrk"),
        "1/s",
        one(loads[0]),
        Some(("bare HTTP server", reference)),
        "",
    );
    let mut served = Vec::new();
    for (_, call) in &calls {
        wrk.load(call, 1);
        let (rate, cost) = costs(&platform, || wrk.load(call, 1));
        served.push((one(rate), one(cost)));
    }
    let warm: Vec<_> = (calls.iter())
        .map(|(_, call)| one(wrk.answer(call, LOAD)))
        .collect();
    for (index, (what, _)) in calls.iter().enumerate() {
        let beside = |all: &[Summary]| (index > 0).then(|| ("the flare", all[0]));
        let row = |part: &str| format!("{what}, warm, {part}");
        report.add(
            row("one client, just started"),
            "ms",
            fresh[index],
            beside(&fresh),
            "<= 3",
        );
        report.add(
            row("one client"),
            "ms",
            warm[index],
            beside(&warm),
            "<= 1.5",
        );
        let (rate, cost) = served[index];
        let bare = Some(("bare HTTP server", reference));
        report.add(row("32 clients of wrk"), "1/s", rate, bare, ">= 1500");
        let flare = (index > 0).then(|| ("the flare", served[0].1));
        report.add(
            row("processor time of all processes"),
            "ms",
            cost,
            flare,
            "<= 1.2",
        );
    }
    drop(platform);
    in_containers(report);
    in_turn(report);
    together(report);
    first_call(runs, report);
}

/// Starts a platform with one action of each kind, all of which do nothing.
fn callable() -> Platform {
    let platform = Platform::start(settings(SLOTS));
    crate::deploy(&platform, "noop");
    for (kind, code) in KINDS {
        store(platform.api(), kind, kind, code, 1);
    }
    let mut looping = package::definition(&package::zip_of("exec", LOOP.as_bytes()))["exec"].take();
    looping["kind"] = json!("python:default");
    keep(platform.api(), "loop", &looping, 1);
    let script = json!({"kind": "blackbox", "image": "openwhisk/dockerskeleton", "code": SCRIPT});
    keep(platform.api(), "script", &script, 1);
    platform
}

/// Measures the latency for one client when packs are containers: of a function, and of a user's own image.
fn in_containers(report: &mut Report) {
    let image = tempfile::tempdir().unwrap();
    let lines = "FROM burst-runtime:latest\nCOPY server.py /server.py\nENTRYPOINT [\"/usr/bin/python3\", \"/server.py\"]\n";
    for (name, text) in [("server.py", SERVER), ("Dockerfile", lines)] {
        std::fs::write(image.path().join(name), text).unwrap();
    }
    let mut build = Command::new("docker");
    build
        .args(["build", "--quiet", "--tag", IMAGE])
        .arg(image.path());
    command::run(&mut build, LIMIT).exits(0);
    let platform = Platform::start(unlimited(Settings::new(Driver::Docker).slots(2)));
    let api = platform.api();
    store(api, "python", "python", KINDS[0].1, 1);
    keep(
        api,
        "image",
        &json!({"kind": "blackbox", "image": IMAGE}),
        1,
    );
    let wrk = Wrk::new(api, platform.scratch());
    let medians = ["python", "image"].map(|name| {
        let call = (format!("actions/{name}"), json!({}));
        called(api, &call);
        wrk.answer(&call, LOAD * WARMING as u32);
        one(wrk.answer(&call, LOAD))
    });
    report.add(
        "python in a container, warm, one client",
        "ms",
        medians[0],
        None,
        "<= 1.5",
    );
    report.add(
        "an image of the user's own, warm, one client",
        "ms",
        medians[1],
        Some(("python in a container", medians[0])),
        "<= 1.5",
    );
    drop(platform);
    docker::remove_image(IMAGE);
}

/// Returns the latency for one client in the first seconds of an otherwise idle platform.
fn just_started(call: &(String, Value)) -> Summary {
    let platform = callable();
    called(platform.api(), call);
    one(Wrk::new(platform.api(), platform.scratch()).answer(call, FRESH))
}

/// Measures a hundred actions called in turn, compared with one alone.
fn in_turn(report: &mut Report) {
    let platform = Platform::start(settings(8));
    let api = platform.api();
    let (kind, code) = KINDS[0];
    for number in 0..ACTIONS {
        store(api, &format!("turn{number}"), kind, code, 1);
    }
    let wrk = Wrk::new(api, platform.scratch());
    let call = ("actions/turn".to_owned(), json!({}));
    wrk.load(&call, ACTIONS);
    let alone = ("actions/turn0".to_owned(), json!({}));
    wrk.load(&alone, 1);
    let alone = one(wrk.load(&alone, 1));
    let turns = one(wrk.load(&call, ACTIONS));
    report.add(
        "100 different actions in turn, 8 slots, process driver",
        "1/s",
        turns,
        Some(("one action alone", alone)),
        ">= 0.3 x",
    );
}

/// Measures calls that mostly wait, one at a time in a container and many concurrently, on one slot each.
fn together(report: &mut Report) {
    let platform = Platform::start(settings(1));
    let api = platform.api();
    let code = "const main = () => new Promise((done) => setTimeout(done, 100, {}));";
    let rates = [("alone", 1), ("together", CLIENTS)].map(|(name, concurrency)| {
        store(api, name, "nodejs", code, concurrency);
        let wrk = Wrk::new(api, platform.scratch());
        let call = (format!("actions/{name}"), json!({}));
        wrk.load(&call, 1);
        one(wrk.load(&call, 1))
    });
    report.add(
        "calls that wait for 100 ms, 32 at once in a container, one slot",
        "1/s",
        rates[1],
        Some(("one at a time", rates[0])),
        "",
    );
}

/// Measures the first call of an action in a pre-warmed container, compared with its second call, on a platform that is
/// warm.
fn first_call(runs: usize, report: &mut Report) {
    let platform = Platform::start(settings(8).prewarmed(4));
    let api = platform.api();
    store(api, "old", KINDS[0].0, KINDS[0].1, 1);
    let wrk = Wrk::new(api, platform.scratch());
    wrk.load(&("actions/old".to_owned(), json!({})), 1);
    for (kind, code) in KINDS {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for run in 0..=runs {
            let name = format!("{kind}{run}");
            store(api, &name, kind, code, 1);
            wait::until("a container is ready", wait::SOON, || {
                (api.prewarmed_packs() > 0).then_some(())
            });
            thread::sleep(REST);
            let call = (format!("actions/{name}"), json!({}));
            let pair = [called(api, &call), called(api, &call)];
            if run > 0 {
                first.push(pair[0]);
                second.push(pair[1]);
            }
        }
        let bare = Summary::of((0..runs).map(|_| interpreter(kind)).collect());
        report.add(
            format!("first call of a new action of {kind}, pre-warmed container"),
            "ms",
            Summary::of(first),
            Some(("the second call", Summary::of(second))),
            "<= 20 ms + its code's own loading",
        );
        report.add(
            format!("the interpreter of {kind} alone, from its start to its end"),
            "ms",
            bare,
            None,
            "",
        );
    }
}

/// Returns the milliseconds that the bare interpreter takes from start to exit, a part of an action's first call.
fn interpreter(kind: &str) -> f64 {
    let (program, option, code) = match kind {
        "python" => ("python3", "-c", "import json, sys"),
        _ => ("node", "-e", "require('worker_threads')"),
    };
    let began = Instant::now();
    command::run(Command::new(program).args([option, code]), LIMIT).exits(0);
    began.elapsed().as_secs_f64() * 1e3
}

fn settings(slots: u32) -> Settings {
    unlimited(Settings::new(Driver::Process).slots(slots))
}

fn unlimited(settings: Settings) -> Settings {
    let settings = settings.limit(LIMIT);
    [
        "flares-per-minute",
        "invocations-per-minute",
        "requests-per-minute",
    ]
    .into_iter()
    .fold(settings, |settings, rate| {
        settings.set(&format!("burst.limits.{rate}"), "1000000")
    })
}

fn store(api: &Api, name: &str, kind: &str, code: &str, concurrency: usize) {
    let exec = json!({"kind": format!("{kind}:default"), "code": code});
    keep(api, name, &exec, concurrency);
}

fn keep(api: &Api, name: &str, exec: &Value, concurrency: usize) {
    let limits = json!({"memory": 128, "concurrency": concurrency});
    let body = json!({"exec": exec, "limits": limits});
    api.put_action(name, &body);
}

/// Calls an action and returns the time from request to result, in milliseconds.
fn called(api: &Api, (path, body): &(String, Value)) -> f64 {
    let path = format!("{path}?blocking=true&result=true");
    let asked = Instant::now();
    let answer = api.post(&path, body);
    let took = asked.elapsed();
    answer.expect::<Value>(200);
    took.as_secs_f64() * 1e3
}

fn one(figure: f64) -> Summary {
    Summary::of(vec![figure])
}

/// Returns the rate of `load` per second, and the milliseconds of processor time per call, over all processes of the
/// platform.
fn costs(platform: &Platform, load: impl FnOnce() -> f64) -> (f64, f64) {
    let used = || -> Duration {
        let all = platform.processes();
        all.iter()
            .map(|it| processes::processor_time_of_family(it.pid))
            .sum()
    };
    let before = used();
    let rate = load();
    let spent = used().saturating_sub(before);
    (
        rate,
        spent.as_secs_f64() * 1e3 / (rate * LOAD.as_secs_f64()),
    )
}

/// Calls the platform with `wrk`.
struct Wrk<'a> {
    api: &'a Api,
    scratch: &'a Path,
}

impl<'a> Wrk<'a> {
    fn new(api: &'a Api, scratch: &'a Path) -> Self {
        Self { api, scratch }
    }

    /// Returns responses per second. With several `names`, a number is appended to the path, which cycles through them.
    fn load(&self, call: &(String, Value), names: usize) -> f64 {
        wrk(self.api.base(), &self.script(call, names), CLIENTS, LOAD).rate
    }

    /// Returns the median latency for one client, in milliseconds.
    fn answer(&self, call: &(String, Value), time: Duration) -> f64 {
        wrk(self.api.base(), &self.script(call, 1), 1, time).median
    }

    fn script(&self, (path, body): &(String, Value), names: usize) -> PathBuf {
        let request = self.api.request(Method::POST, "x").build().unwrap();
        let auth = request.headers()["authorization"].to_str().unwrap();
        let path = format!("/api/v1/namespaces/_/{path}");
        let mut script = format!("wrk.method = 'POST'\nwrk.body = '{body}'\n");
        for (name, value) in [
            ("Authorization", auth),
            ("Content-Type", "application/json"),
        ] {
            writeln!(script, "wrk.headers['{name}'] = '{value}'").unwrap();
        }
        let number = if names == 1 { "''" } else { "n % NAMES" };
        let number = number.replace("NAMES", &names.to_string());
        writeln!(script, "local n = 0").unwrap();
        writeln!(script, "request = function() n = n + 1; return wrk.format(nil, '{path}' .. {number} .. '?blocking=true&result=true') end").unwrap();
        writeln!(
            script,
            "done = function(_, latency) print('median ' .. latency:percentile(50) .. ' us') end"
        )
        .unwrap();
        let file = self.scratch.join("load.lua");
        std::fs::write(&file, script).unwrap();
        file
    }
}

/// Responses per second, and the median latency in milliseconds.
struct Loaded {
    rate: f64,
    median: f64,
}

/// Runs `wrk`. Any failed response ends the benchmark.
fn wrk(url: &str, script: &Path, clients: usize, time: Duration) -> Loaded {
    let seconds = time.as_secs();
    let mut wrk = Command::new("wrk");
    wrk.args([
        &format!("-t{}", clients.min(2)),
        &format!("-c{clients}"),
        &format!("-d{seconds}s"),
        "--timeout",
        "30s",
    ]);
    wrk.arg("-s").arg(script).arg(url);
    let output = command::run(&mut wrk, LIMIT).exits(0).stdout;
    assert!(
        !output.contains("Non-2xx") && !output.contains("Socket errors"),
        "{output}"
    );
    let figure = |before: &str, behind: &str| -> Option<f64> {
        let line = output.lines().find_map(|line| line.strip_prefix(before))?;
        line.strip_suffix(behind)?.trim().parse().ok()
    };
    Loaded {
        rate: figure("Requests/sec:", "").unwrap(),
        median: figure("median ", " us").map_or(f64::NAN, |us| us / 1e3),
    }
}

/// A server of the same HTTP library that only answers requests.
struct Bare {
    server: std::process::Child,
    url: String,
    scratch: tempfile::TempDir,
}

impl Bare {
    fn start() -> Self {
        let source = built::repository().join("benchmarks/reference/http/Bare.java");
        let scratch = tempfile::tempdir().unwrap();
        let home = std::env::var("JAVA_HOME").unwrap_or_default();
        let java = Path::new(&home).join("bin/java");
        let mut java = Command::new(if home.is_empty() { "java".into() } else { java });
        // The jar's logging configuration writes log files into the current directory.
        java.current_dir(scratch.path());
        java.args(["-XX:+UseSerialGC", "-cp"]);
        java.arg(built::dist("lib/burst-standalone.jar"))
            .arg(source);
        java.stdout(Stdio::piped());
        let mut server = command::spawn(java).unwrap();
        let output = Lines::of(server.stdout.take().unwrap());
        let port = output.next().expect("its port");
        Self {
            server,
            url: format!("http://127.0.0.1:{port}"),
            scratch,
        }
    }

    fn load(&self) -> f64 {
        let script = self.scratch.path().join("load.lua");
        std::fs::write(&script, "wrk.method = 'POST'\nwrk.body = '{}'\n").unwrap();
        wrk(&self.url, &script, CLIENTS, LOAD).rate
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

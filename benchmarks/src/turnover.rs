//! The cost of packs themselves, without the programs in them: how many can be created and removed per second, and the
//! memory of one that waits.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings, built, wait};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The packs of a flare, and the number of packs that wait when memory is measured.
const PACKS: u32 = 16;

/// The flares of each client, one after another. With fewer, the measurement would be too short.
const FLARES: u32 = 10;

/// The number of concurrent clients, so that some packs are created while others are removed.
const CLIENTS: u32 = 3;

const BOUND: Duration = Duration::from_secs(120);

pub fn measure(runs: usize, report: &mut Report) {
    // Docker comes first, because the others are compared with it.
    let mut drivers = Driver::ALL;
    drivers.sort_by_key(|&driver| driver != Driver::Docker);
    let mut docker = None;
    for driver in drivers {
        let runs = runs_of(driver, runs);
        let made = Summary::of(made(driver, runs));
        let reference = docker.map(|it| ("docker", it));
        let what = format!("packs made and gone, {}", driver.name());
        report.add(what, "1/s", made, reference, goal(driver, ">= 100"));
        docker.get_or_insert(made);
    }
    let mut docker = None;
    for driver in drivers {
        let runs = runs_of(driver, runs);
        let alone = Summary::of(alone(driver, runs));
        let reference = docker.map(|it| ("docker", it));
        let what = format!("packs made and gone, {}, with no platform", driver.name());
        report.add(what, "1/s", alone, reference, goal(driver, ">= 100"));
        docker.get_or_insert(alone);
    }
    let mut process = None;
    for driver in Driver::ALL {
        let memory = Summary::of(memory(driver));
        let reference = process.map(|it| ("process", it));
        let what = format!("memory of a pre-warmed pack, {}", driver.name());
        let most = goal(driver, "<= reference + 1 MiB");
        report.add(what, "KiB", memory, reference, most);
        process.get_or_insert(memory);
    }
}

/// Returns the number of runs: a run takes three minutes on docker.
fn runs_of(driver: Driver, runs: usize) -> usize {
    match driver {
        Driver::Docker => 1,
        _ => runs,
    }
}

fn goal(driver: Driver, goal: &'static str) -> &'static str {
    if matches!(driver, Driver::Sandbox) {
        goal
    } else {
        ""
    }
}

/// Returns packs per second, from the requests until no process of them is left.
fn made(driver: Driver, runs: usize) -> Vec<f64> {
    let settings = Settings::new(driver)
        .slots(PACKS * CLIENTS)
        .set("burst.invoker.idle-packs", "0");
    let platform = Platform::start(settings.limit(Duration::from_secs(600)));
    crate::deploy(&platform, "noop");
    let client = || {
        for _ in 0..FLARES {
            let request = json!({"size": PACKS, "params": {}, "granularity": 1, "packing": "homogeneous",
                                 "memory": 16, "timeout": 60_000});
            let flare = crate::run(&platform, "noop", request);
            assert!(flare.packs.iter().all(|it| it.start == Some("cold".into())));
        }
    };
    let flares = || {
        let began = Instant::now();
        thread::scope(|scope| (0..CLIENTS).for_each(|_| drop(scope.spawn(client))));
        // Looks at processes, because an invoker reports its packs only every second or two.
        let left = || packs().count();
        wait::until_seen("no pack is left", BOUND, left, |left| *left == 0);
        f64::from(PACKS * FLARES * CLIENTS) / began.elapsed().as_secs_f64()
    };
    flares();
    (0..runs).map(|_| flares()).collect()
}

/// Returns packs per second without a platform and without a program in them: each is started as a driver would do it,
/// and stopped as soon as its runtime listens. Enough of them run concurrently to keep the processors busy.
fn alone(driver: Driver, runs: usize) -> Vec<f64> {
    const AT_ONCE: usize = 8;
    let package = tempfile::tempdir().unwrap();
    let each = match driver {
        Driver::Docker => 4,
        _ => 50,
    };
    let maker = || (0..each).for_each(|_| make_alone(driver, package.path()));
    let packs = || {
        let began = Instant::now();
        thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(maker))));
        (each * AT_ONCE) as f64 / began.elapsed().as_secs_f64()
    };
    packs();
    (0..runs).map(|_| packs()).collect()
}

/// The number of packs created without a platform.
static PACK: AtomicU32 = AtomicU32::new(0);

fn make_alone(driver: Driver, package: &Path) {
    let runtime = built::dist("bin/burst-runtime");
    let mut command = match driver {
        Driver::Docker => {
            let mut command = Command::new("docker");
            let run = "run --rm --interactive --env BURST_RUNTIME_TOKEN burst-runtime serve --listen 0.0.0.0:8080";
            command.args(run.split(' '));
            command
        }
        Driver::Sandbox => {
            let mut command = Command::new(runtime);
            command.arg("sandbox");
            command
        }
        _ => {
            let mut command = Command::new(runtime);
            command.args(["serve", "--listen", "127.0.0.1:0"]);
            command
        }
    };
    command.env("BURST_RUNTIME_TOKEN", "00".repeat(32));
    let mut pack = (command.stdin(Stdio::piped()).stdout(Stdio::piped()))
        .spawn()
        .unwrap();
    let mut input = pack.stdin.take().unwrap();
    if matches!(driver, Driver::Sandbox) {
        let limits = json!({"memoryMiB": 64, "cpus": 1, "processes": 128, "files": 1024});
        let mut spec = json!({"package": package, "tmpMiB": 16, "shmMiB": 16, "limits": limits});
        if rustix::process::geteuid().is_root() {
            let number = PACK.fetch_add(1, Ordering::Relaxed);
            spec["user"] = json!(1_000_000 + number);
            spec["group"] = json!(format!("burst-turnover-{number}"));
        }
        writeln!(input, "{spec}").unwrap();
    }
    let mut lines = BufReader::new(pack.stdout.take().unwrap()).lines();
    let listens = lines.any(|line| line.unwrap().starts_with("listening on"));
    assert!(listens, "a pack of {} did not come up", driver.name());
    drop(input);
    assert!(pack.wait().unwrap().success());
}

/// Returns the mean KiB of a pack's runtime and its shim. Shared memory counts proportionally.
fn memory(driver: Driver) -> Vec<f64> {
    let settings = Settings::new(driver).slots(PACKS).prewarmed(PACKS);
    let platform = Platform::start(settings.limit(Duration::from_secs(600)));
    let ready = || platform.api().prewarmed_packs();
    wait::until_seen("packs wait", BOUND, ready, |ready| *ready == PACKS);
    let all: f64 = runtimes().iter().map(|kib| *kib as f64).sum();
    vec![all / f64::from(PACKS)]
}

/// Returns the memory of each of the platform's own processes in packs. No other platform may run on the machine.
fn runtimes() -> Vec<u64> {
    packs()
        .filter_map(|process| {
            let rollup = fs::read_to_string(process.join("smaps_rollup")).ok()?;
            let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .collect()
}

fn packs() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.map(|it| it.path()).filter(|it| is_of_a_pack(it))
}

fn is_of_a_pack(process: &Path) -> bool {
    let Ok(command) = fs::read(process.join("cmdline")) else {
        return false;
    };
    let mut words = command.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    program.ends_with(b"burst-runtime") && words.next() != Some(b"firewall")
}

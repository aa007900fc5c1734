//! Plays scripts on one platform, and checks after each of them that everything else still works: the neighbour, the
//! next flare on the pack, the invoker, the controller.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use burst_client::Flare;
use burst_tests::{
    Api, Driver, Neighbour, Platform, Settings, Tenants, built, node, package, processes, wait,
};
use serde_json::{Value, json};

use super::script::{Expected, Script};

const NAME: &str = "hostile";
/// The name of programs that do something before they are up.
const BEFORE: &str = "hostile-before";
const SLOTS: u32 = 8;
/// Longer than any script's flare can take, including its clean-up.
const LIMIT: Duration = Duration::from_secs(300);
/// Longer than all scripts take beside other work.
const LIFETIME: Duration = Duration::from_secs(7200);
/// How long a pack that should be idle is watched, and for how many milliseconds it may work in that time: the runtime
/// takes some 200 to stop it. A pack that worked longer is watched once more and for longer, as the runtime may be
/// scheduled late on a busy machine.
const WATCHES: [(Duration, u64); 2] = [
    (Duration::from_secs(1), 500),
    (Duration::from_secs(4), 1_500),
];
/// After this time another neighbour is started: each lives for ten minutes.
const NEIGHBOUR_LIFETIME: Duration = Duration::from_secs(240);
/// The maximum length of a reported finding.
const MAX_FINDING_LENGTH: usize = 400;
/// How much the JVM's threads and descriptors may grow, as its pools fill.
const GROWTH: usize = 60;
/// The marks of a worker: its own, and the platform's.
const PHASES: usize = 1000 + 10;

/// The faults found, by script.
type Failures = Vec<(&'static str, Vec<String>)>;

/// The settings of a platform that scripts are played on.
pub fn settings(driver: Driver) -> Settings {
    Settings::new(driver).slots(SLOTS).limit(LIFETIME)
}

/// Plays all scripts that apply to the driver; `HOSTILE` can select some by a part of their name.
#[track_caller]
pub fn play(driver: Driver, platform: &Platform, scripts: Vec<Script>) {
    let tenants = Tenants::two(platform);
    tenants.first.deploy(NAME, &built::program(NAME));
    let only = std::env::var("HOSTILE").unwrap_or_default();
    let mut neighbour = Neighbour::start(&tenants.second);
    let mut neighbour_started = Instant::now();
    let api = tenants.first.api();
    let listener = driver
        .isolates()
        .then(|| TcpListener::bind((driver.host(), 0)).unwrap());
    let host: Vec<String> = (listener.iter())
        .map(|listener| listener.local_addr().unwrap().to_string())
        .collect();
    let before = JvmUsage::of(platform);
    let mut failures: Failures = Vec::new();
    for script in scripts {
        let applies = driver.isolates() || !script.isolated;
        if !applies || !script.name.contains(&only) {
            continue;
        }
        let began = Instant::now();
        let mut problems = Vec::new();
        if neighbour_started.elapsed() > NEIGHBOUR_LIFETIME {
            if let Err(cause) = neighbour.makes_progress(neighbour.rounds()) {
                problems.push(format!("the neighbour did not go on before: {cause}"));
            }
            neighbour.end();
            neighbour = Neighbour::start_again(&tenants.second);
            neighbour_started = Instant::now();
        }
        let request = script.request(&neighbour, &host);
        attack(api, &script, &request, &mut problems);
        let rounds = neighbour.rounds();
        if script.discard_packs {
            end_packs(api, &script);
        }
        next(api, driver, &script, &mut problems);
        let undisturbed = neighbour.makes_progress(rounds);
        if let Err(cause) = &undisturbed {
            problems.push(format!("the neighbour does not go on: {cause}"));
        }
        if !problems.is_empty() {
            end_packs(api, &script);
        }
        if undisturbed.is_err() {
            neighbour.end();
            neighbour = Neighbour::start_again(&tenants.second);
            neighbour_started = Instant::now();
        }
        invoker(api, &mut problems);
        orphans(platform, &mut problems);
        println!("{:>6.1?} {} {problems:?}", began.elapsed(), script.name);
        if !problems.is_empty() {
            failures.push((script.name, problems));
        }
    }
    let after = JvmUsage::of(platform);
    if after.threads > before.threads + GROWTH || after.descriptors > before.descriptors + GROWTH {
        failures.push((
            "all together",
            vec![format!("the JVM holds {after:?}, and held {before:?}")],
        ));
    }
    neighbour.end();
    assert!(
        failures.is_empty(),
        "{} went wrong: {failures:#?}",
        failures.len()
    );
}

/// Checks that the attack's own flare ends as it must.
fn attack(api: &Api, script: &Script, request: &Value, problems: &mut Vec<String>) {
    let name = script.before.as_ref().map_or(NAME, |before| {
        let program = fs::read(built::program(NAME)).unwrap();
        let before = before.to_string();
        let files: [(&str, &[u8]); 2] = [("exec", &program), ("before.json", before.as_bytes())];
        api.deploy(BEFORE, &package::zip_of_all(&files));
        BEFORE
    });
    let flare = api.flare_and_wait(name, request);
    let id = flare.flare_id.clone();
    let Some(flare) = ended(api, flare) else {
        problems.push(format!("its flare does not end: {}", api.status(&id).state));
        api.try_cancel(&id);
        return;
    };
    let kind = flare.error.as_ref().map(|error| error.kind.as_str());
    let good = match script.expected {
        Expected::Success => flare.state == "succeeded",
        Expected::Failure(kinds) => {
            flare.state == "failed" && kind.is_some_and(|kind| kinds.contains(&kind))
        }
        Expected::Timeout => flare.state == "timed-out",
        Expected::Anything => true,
    };
    if !good {
        problems.push(format!(
            "its flare must end with {:?}: {} {:?}",
            script.expected, flare.state, flare.error
        ));
    }
    if let (Some((step, good)), "succeeded") = (&script.expected_result, flare.state.as_str()) {
        let outputs = api.result(&id).outputs;
        let output = outputs[0].read::<Value>().unwrap().unwrap_or_default();
        let result = step_result(&output, step);
        if !result.as_ref().is_some_and(good) {
            problems.push(format!("`{step}` resulted in {result:?}"));
        }
    }
    // Whatever the result and the logs hold, they can be read.
    for what in ["result", "logs"] {
        api.length(&format!("flares/{id}/{what}"));
    }
    let timeline = api.timeline(&id);
    if let Some(marks) = timeline.workers.iter().find(|of| of.phases.len() > PHASES) {
        problems.push(format!("{} phases are kept", marks.phases.len()));
    }
}

/// The outcome of a step, from an output of the program.
fn step_result(output: &Value, step: &str) -> Option<Value> {
    let steps = output["noted"].as_array()?.iter();
    steps.rev().find_map(|results| results.get(step)).cloned()
}

/// Waits until a flare has ended; none if it does not end in time.
fn ended(api: &Api, flare: Flare) -> Option<Flare> {
    wait::within(LIMIT, || {
        let flare = api.status(&flare.flare_id);
        flare.state.is_final().then_some(flare)
    })
}

/// Checks that the next flare gets its own outputs and finds nothing of the previous one, whose pack was idle until
/// then.
fn next(api: &Api, driver: Driver, script: &Script, problems: &mut Vec<String>) {
    if !script.busy {
        finds_nothing(api, driver, script, problems);
        return;
    }
    let mut worked = 0;
    for (watch, limit_millis) in WATCHES {
        std::thread::sleep(watch);
        worked = finds_nothing(api, driver, script, problems);
        if worked < limit_millis {
            return;
        }
    }
    problems.push(format!("its pack was at work for {worked} ms"));
}

/// Runs another flare, which must get its own outputs and find nothing; returns for how many milliseconds its pack had
/// worked before it.
fn finds_nothing(api: &Api, driver: Driver, script: &Script, problems: &mut Vec<String>) -> u64 {
    let flare = api.flare_and_wait(NAME, &script.next());
    let id = flare.flare_id.clone();
    let flare = ended(api, flare);
    let Some(flare) = flare.filter(|flare| flare.state == "succeeded") else {
        let flare = api.status(&id);
        problems.push(format!("the next flare: {} {:?}", flare.state, flare.error));
        api.try_cancel(&id);
        return 0;
    };
    let mut worked = 0;
    for output in api.result(&id).outputs {
        let output = output.read::<Value>().unwrap().unwrap_or_default();
        if output["flare"] != flare.flare_id {
            problems.push(format!("the next flare's output is not its own: {output}"));
            continue;
        }
        let found = step_result(&output, "look").unwrap_or_default();
        let empty = |what: &str| found[what].as_array().is_some_and(Vec::is_empty);
        // A pack that is not isolated shares directories and the kernel's tables with all packs of its user.
        let mut places = ["files", "shared", "package", "kept"].into_iter();
        let shared = !driver.isolates() || places.all(empty);
        let alone = empty("processes") && empty("lacks");
        worked = worked.max(found["idle"].as_u64().unwrap_or_default());
        if !shared || !alone {
            let mut finding = format!("the next flare finds {found}");
            finding.truncate(finding.floor_char_boundary(MAX_FINDING_LENGTH));
            problems.push(finding);
        }
    }
    worked
}

/// Ends the script's packs if they cannot be unchanged, so that the next flare is not blamed for it.
fn end_packs(api: &Api, script: &Script) {
    let mut request = script.next();
    for input in request["params"].as_array_mut().into_iter().flatten() {
        *input = json!({"steps": [{"do": "exit"}]});
    }
    ended(api, api.flare_and_wait(NAME, &request));
}

/// Checks that the invoker is up and has its slots back.
fn invoker(api: &Api, problems: &mut Vec<String>) {
    let good = || {
        let invokers = api.invokers();
        let up = invokers.iter().all(|invoker| invoker.state == "up");
        let free: u32 = invokers.iter().map(|invoker| invoker.free_slots).sum();
        up && free == SLOTS - Neighbour::SIZE
    };
    if wait::within(wait::SOON, || good().then_some(())).is_none() {
        problems.push(format!("the invokers: {:?}", api.invokers()));
    }
}

/// Checks that every process of the platform still has the parent that started it.
fn orphans(platform: &Platform, problems: &mut Vec<String>) {
    let all = platform.processes();
    for process in &all {
        let parent = processes::parent(process.pid);
        // It may have ended in the meantime.
        let known = parent.is_none_or(|parent| all.iter().any(|other| other.pid == parent));
        if process.pid != platform.pid() && !known {
            problems.push(format!("an orphan is left: {process:?}"));
            // Killed, so that no other script is blamed for it.
            node::kill(process.pid);
        }
    }
}

/// What the JVM of a platform holds.
#[derive(Debug)]
struct JvmUsage {
    threads: usize,
    descriptors: usize,
}

impl JvmUsage {
    fn of(platform: &Platform) -> Self {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", platform.pid()));
        Self {
            threads: processes::threads(platform.pid()).len(),
            descriptors: descriptors.map_or(0, Iterator::count),
        }
    }
}

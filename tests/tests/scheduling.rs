//! All or none, in order; packs as requested, kept warm and released; timeouts and retries.

use std::collections::BTreeSet;
use std::time::Duration;

use burst_client::{Flare, ListFlaresQuery, Start};
use burst_tests::{Driver, Loan, Platform, Settings, failing, read_json, refused, wait};
use serde_json::{Value, json};

fn platform() -> Loan {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    platform
}

fn flare(platform: &Platform, size: u32, params: &Value, options: Value) -> String {
    let mut request = json!({"size": size, "params": params});
    request
        .as_object_mut()
        .unwrap()
        .extend(options.as_object().unwrap().clone());
    platform.api().flare(failing::NAME, &request)
}

fn starts(flare: &Flare) -> BTreeSet<&str> {
    flare
        .packs
        .iter()
        .map(|pack| pack.start.as_ref().map_or("never", Start::as_str))
        .collect()
}

fn sizes(flare: &Flare) -> Vec<usize> {
    // Workers of a pack follow those of the packs before it.
    let workers: Vec<u32> = flare
        .packs
        .iter()
        .flat_map(|pack| pack.workers.clone())
        .collect();
    assert_eq!(workers, (0..flare.size).collect::<Vec<_>>(), "{flare:#?}");
    flare.packs.iter().map(|pack| pack.workers.len()).collect()
}

#[test]
fn a_flare_larger_than_the_cluster_is_refused_at_once() {
    let platform = platform();
    let request = json!({"size": 9, "params": failing::succeed()});
    let sentence = refused(platform.api().client().flare(failing::NAME, &request), 400);
    assert!(
        sentence.contains("8 slots"),
        "how many slots there are: {sentence}"
    );
    let burst = [
        "flare",
        failing::NAME,
        "--size",
        "9",
        "--param",
        "how",
        "succeed",
    ];
    platform.cli(&burst).exits(6).complains_of("8 slots");
    let flares = platform
        .api()
        .client()
        .list_flares(&ListFlaresQuery::default());
    assert_eq!(read_json(flares), json!([]));
}

#[test]
fn a_flare_that_does_not_fit_waits_and_is_never_partially_placed() {
    let platform = platform();
    let first = flare(
        &platform,
        5,
        &failing::hold(failing::LONG),
        json!({"timeout": failing::LONG_TIMEOUT}),
    );
    platform.api().all_wrote(&first, failing::MARK);
    let second = flare(
        &platform,
        8,
        &failing::hold(Duration::from_millis(10)),
        json!({}),
    );
    let waiting = platform.api().status(&second);
    assert_eq!(waiting.state, "queued", "{waiting:#?}");
    assert!(waiting.packs.is_empty(), "{waiting:#?}");
    // A slow scheduler is not waited for: the position is then not shown.
    let queue = || read_json(platform.api().client().get_flare(&second))["queue"].clone();
    let queue = wait::until_seen("its position is shown", wait::SOON, queue, Value::is_object);
    assert_eq!(queue["position"], 1, "{queue}");
    assert!(queue["start"].is_u64(), "{queue}");
    let status = || platform.cli(&["status", &second]).exits(0).stdout;
    wait::until_seen("its position is shown", wait::SOON, status, |shown| {
        shown.contains("position 1, expected to start at")
    });
    assert_eq!(
        platform.api().free_slots(),
        3,
        "no slot is held for a flare that waits"
    );
    platform.api().cancel(&first);
    let second = platform.api().ended(&second);
    assert_eq!(second.state, "succeeded", "{second:#?}");
    let first = platform.api().ended(&first);
    assert_eq!(first.state, "cancelled", "{first:#?}");
    // A slot is freed when its worker ends; the flare's end may follow a moment later.
    for worker in &first.workers {
        assert!(second.started > worker.ended, "{worker:#?} {second:#?}");
    }
}

#[test]
fn a_queued_flare_can_be_cancelled() {
    let platform = platform();
    let first = flare(
        &platform,
        8,
        &failing::hold(failing::LONG),
        json!({"timeout": failing::LONG_TIMEOUT}),
    );
    let second = flare(&platform, 2, &failing::succeed(), json!({}));
    platform.api().in_state(&first, "running");
    assert_eq!(platform.api().status(&second).state, "queued");
    platform.api().cancel(&second);
    let second = platform.api().ended(&second);
    assert_eq!(second.state, "cancelled", "{second:#?}");
    assert!(
        second.packs.is_empty() && second.started.is_none(),
        "{second:#?}"
    );
    assert_eq!(platform.api().result(&second.flare_id).outputs.len(), 2);
    assert_eq!(
        platform.api().status(&first).state,
        "running",
        "the other one goes on"
    );
    platform.api().cancel(&first);
    platform.api().ended(&first);
    wait::until_seen(
        "slots are free",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 8,
    );
}

#[test]
fn slots_are_freed_as_workers_end() {
    let platform = platform();
    let mut params = vec![failing::succeed(); 8];
    params[5] = failing::hold(failing::LONG);
    let request = json!({"params": params, "timeout": failing::LONG_TIMEOUT});
    let first = platform.api().flare(failing::NAME, &request);
    wait::until_seen(
        "the slots of the seven are free",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 7,
    );
    let second = platform.api().run(failing::NAME, 7, &failing::succeed());
    assert_eq!(second.state, "succeeded", "{second:#?}");
    assert_eq!(platform.api().status(&first).state, "running");
    platform.api().cancel(&first);
    assert_eq!(platform.api().ended(&first).state, "cancelled");
    wait::until_seen(
        "each slot came back once",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 8,
    );
}

#[test]
fn a_first_flare_gets_a_prewarmed_pack() {
    let settings = Settings::new(Driver::Process).prewarmed(1);
    let platform = Platform::start(settings);
    failing::deploy(&platform);
    let ready = || {
        wait::until_seen(
            "a container is ready",
            wait::SOON,
            || platform.api().prewarmed_packs(),
            |n| *n == 1,
        )
    };
    ready();
    let first = platform.api().run(failing::NAME, 4, &failing::succeed());
    assert_eq!(
        (first.state.as_str(), starts(&first)),
        ("succeeded", ["prewarmed"].into())
    );
    ready();
}

#[test]
fn packs_are_reused_until_the_definition_changes() {
    let platform = platform();
    let first = platform.api().run(failing::NAME, 4, &failing::succeed());
    assert_eq!(
        (first.state.as_str(), starts(&first)),
        ("succeeded", ["cold"].into())
    );
    wait::until_seen(
        "the pack is kept",
        wait::SOON,
        || platform.api().warm_packs(),
        |n| *n == 1,
    );
    let kept = platform.processes();
    let second = platform.api().run(failing::NAME, 4, &failing::succeed());
    assert_eq!(
        (second.state.as_str(), starts(&second)),
        ("succeeded", ["warm"].into())
    );
    assert_eq!(
        platform.processes(),
        kept,
        "the same processes did the second flare"
    );
    failing::deploy_as(&platform, failing::NAME, &["--overwrite"]);
    let third = platform.api().run(failing::NAME, 4, &failing::succeed());
    assert_eq!(
        (third.state.as_str(), starts(&third)),
        ("succeeded", ["cold"].into())
    );
}

#[test]
fn idle_packs_are_ended() {
    let settings = Settings::new(Driver::Process).idle_timeout(Duration::from_secs(1));
    let platform = Platform::start(settings);
    failing::deploy(&platform);
    let before = platform.footprint();
    assert_eq!(
        platform
            .api()
            .run(failing::NAME, 4, &failing::succeed())
            .state,
        "succeeded"
    );
    let look = || platform.footprint();
    wait::until_seen("idle packs are gone", wait::SOON, look, |now| {
        *now == before
    });
}

#[test]
fn packing_follows_the_request() {
    let platform = platform();
    let run = |size, options: Value| {
        let id = flare(&platform, size, &failing::succeed(), options);
        let flare = platform.api().ended(&id);
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
        flare
    };
    let homogeneous = |size, g| {
        sizes(&run(
            size,
            json!({"packing": "homogeneous", "granularity": g}),
        ))
    };
    assert_eq!(homogeneous(6, 2), [2, 2, 2]);
    assert_eq!(homogeneous(5, 2), [2, 2, 1]);
    assert_eq!(homogeneous(3, 1), [1, 1, 1]);
    // On a single machine the packs of `mixed` are merged, and `heterogeneous` takes as many slots
    // as it can.
    let mixed = run(6, json!({"packing": "mixed", "granularity": 2}));
    assert_eq!((sizes(&mixed), mixed.granularity), (vec![6], Some(2)));
    assert_eq!(sizes(&run(6, json!({"packing": "heterogeneous"}))), [6]);
    let default = run(6, json!({}));
    assert_eq!(
        (sizes(&default), default.packing.as_str()),
        (vec![6], "mixed")
    );
}

#[test]
fn options_of_a_flare_override_those_of_its_definition() {
    let platform = platform();
    let flags = [
        "--granularity",
        "2",
        "--packing",
        "homogeneous",
        "--timeout",
        "50s",
    ];
    let parameters = ["--param", "how", "succeed"];
    failing::deploy_as(&platform, "tuned", &[&flags[..], &parameters].concat());
    let flare = platform.api().run("tuned", 4, &json!({}));
    assert_eq!(
        (flare.state.as_str(), sizes(&flare)),
        ("succeeded", vec![2, 2])
    );
    assert_eq!(flare.timeout, Duration::from_secs(50));
    let id = platform.api().flare(
        "tuned",
        &json!({"size": 4, "granularity": 4, "timeout": 59_000}),
    );
    let flare = platform.api().ended(&id);
    assert_eq!(
        (flare.state.as_str(), sizes(&flare), flare.timeout),
        ("succeeded", vec![4], Duration::from_secs(59))
    );
}

#[test]
fn every_worker_gets_its_own_input() {
    let platform = platform();
    let inputs = json!([
        failing::succeed(),
        failing::hold(failing::SHORT),
        failing::succeed()
    ]);
    let options = json!({"params": inputs, "packing": "homogeneous", "granularity": 2});
    let id = platform.api().flare(failing::NAME, &options);
    let flare = platform.api().ended(&id);
    assert_eq!(
        (flare.state.as_str(), flare.size),
        ("succeeded", 3),
        "{flare:#?}"
    );
    let mut lines: Vec<(Option<u32>, String)> = platform
        .api()
        .logs(&id)
        .logs
        .into_iter()
        .map(|line| (line.worker, line.line))
        .collect();
    lines.sort();
    let expected_line = |worker, how: &str| (Some(worker), format!("{}{how}", failing::MARK));
    assert_eq!(
        lines,
        [
            expected_line(0, "Succeed"),
            expected_line(1, "Hold"),
            expected_line(2, "Succeed")
        ]
    );
}

#[test]
fn a_timeout_ends_a_flare_of_any_size() {
    let platform = platform();
    for size in [1, 8] {
        let options = json!({"timeout": 1_000});
        let id = flare(&platform, size, &json!({"how": "loop", "who": 0}), options);
        let flare = platform.api().ended(&id);
        assert_eq!(flare.state, "timed-out", "{flare:#?}");
        assert_eq!(flare.error.as_ref().unwrap().kind, "timeout", "{flare:#?}");
        // A benchmark measures how late; nothing else would end it.
        let deadline = platform.api().deadline(&flare);
        assert!(flare.ended.unwrap() >= deadline, "{deadline:?}: {flare:#?}");
    }
}

#[test]
fn retries_rerun_the_whole_flare() {
    let platform = platform();
    let file = platform.scratch().join("was-here");
    let once = json!({"how": "fail-once", "file": file});
    let id = flare(&platform, 2, &once, json!({"retries": 3}));
    let healed = platform.api().ended(&id);
    assert_eq!(
        (healed.state.as_str(), healed.attempt),
        ("succeeded", 2),
        "{healed:#?}"
    );
    assert!(healed.error.is_none(), "{healed:#?}");
    // The logs are those of the last attempt.
    assert_eq!(platform.api().logs(&id).logs.len(), 2);

    let id = flare(
        &platform,
        2,
        &failing::input("error", 1),
        json!({"retries": 2}),
    );
    let hopeless = platform.api().ended(&id);
    assert_eq!(
        (hopeless.state.as_str(), hopeless.attempt),
        ("failed", 3),
        "{hopeless:#?}"
    );
}

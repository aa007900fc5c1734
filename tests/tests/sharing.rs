//! How packs share one machine, and how flares share one pack.

use burst_client::Flare;
use burst_tests::escaping::{NAME, lent};
use burst_tests::{Driver, Platform, Settings, docker, processes, wait};
use serde_json::{Value, json};

/// Runs a flare of one pack to completion.
#[track_caller]
fn run(platform: &Platform, size: u32, input: &Value) -> Flare {
    let options = json!({"size": size, "params": input, "memory": 128, "granularity": size});
    platform.api().flare_to_end(NAME, &options)
}

#[track_caller]
fn succeeds(flare: &Flare, start: &str) {
    assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    assert_eq!(flare.packs[0].start, Some(start.into()));
}

fn touch(mebibytes: u32) -> Value {
    json!({"try": "touch", "mebibytes": mebibytes})
}

#[test]
fn a_warm_pack_has_the_resources_of_its_current_workers() {
    Settings::isolated()
        .into_iter()
        .for_each(has_the_resources_of_its_workers);
}

#[track_caller]
fn has_the_resources_of_its_workers(settings: Settings) {
    let platform = lent(settings);
    succeeds(&run(&platform, 1, &touch(50)), "cold");
    // Each uses nearly the maximum for workers of 128 MiB, and together more than fewer workers could.
    for _ in 0..2 {
        succeeds(&run(&platform, 6, &touch(100)), "warm");
        succeeds(&run(&platform, 1, &touch(50)), "warm");
    }
    let greedy = run(&platform, 1, &touch(400));
    assert_eq!(greedy.state, "failed", "400 MiB for one worker of 128");
    let error = greedy.error.as_ref().unwrap();
    assert_eq!(error.kind, "out-of-memory", "{error:#?}");
}

#[test]
fn containers_that_exhaust_kernel_limits_do_not_affect_others() {
    exhausting_all_resources_does_not_affect_others(Settings::new(Driver::Docker), |platform| {
        let users: Vec<_> = (platform.containers().iter())
            .map(|container| container["Config"]["User"].clone())
            .collect();
        assert_eq!(users.len(), 2, "{users:?}");
        assert_ne!(users[0], users[1]);
    });
}

#[test]
fn root_sandboxes_that_exhaust_kernel_limits_do_not_affect_others() {
    exhausting_all_resources_does_not_affect_others(
        Settings::new(Driver::Sandbox).as_root(),
        |_| (),
    );
}

#[track_caller]
fn exhausting_all_resources_does_not_affect_others(settings: Settings, look: impl Fn(&Platform)) {
    let platform = lent(settings);
    let api = platform.api();
    // With less it would first be killed for its memory: a watch takes 192 bytes.
    let options = json!({
        "size": 1, "params": {"try": "exhaust"}, "memory": 3072, "timeout": 900_000,
    });
    let greedy = api.flare(NAME, &options);
    // Creating some millions of them takes ten seconds on an idle machine, and longer on a busy one.
    let has_all = || {
        let flare = api.status(&greedy);
        assert_eq!(flare.ended, None, "{flare:#?}");
        let logs = api.logs(&greedy).logs;
        logs.iter()
            .any(|line| line.line.starts_with("exhausted"))
            .then_some(())
    };
    wait::until_or_explain(4 * wait::SOON, has_all, || {
        let flare = api.status(&greedy);
        format!("it has all that a user is given: {flare:#?}")
    });
    succeeds(&run(&platform, 1, &json!({"try": "need"})), "cold");
    look(&platform);
    api.try_cancel(&greedy);
    api.ended(&greedy);
}

#[test]
fn a_flare_finds_nothing_of_the_previous_one_on_its_pack() {
    Settings::isolated()
        .into_iter()
        .for_each(leaves_nothing_behind);
}

#[track_caller]
fn leaves_nothing_behind(settings: Settings) {
    let platform = lent(settings);
    succeeds(&run(&platform, 1, &json!({"try": "leave"})), "cold");
    let flare = run(&platform, 1, &json!({"try": "look"}));
    succeeds(&flare, "warm");
    let result = platform.api().result(&flare.flare_id);
    let found: Option<Value> = result.outputs[0].read().unwrap();
    assert_eq!(found, Some(json!({"files": [], "processes": 0})));
}

#[test]
fn an_idle_container_gets_no_processor_time() {
    let platform = lent(Settings::new(Driver::Docker));
    succeeds(&run(&platform, 1, &json!({"try": "need"})), "cold");
    let container = docker::id(&platform.containers()[0]);
    wait::until("the program is stopped", wait::SOON, || {
        let table = docker::docker(&["top", &container, "-eo", "stat,pid,comm"]);
        let mut lines = table.lines().skip(1);
        lines
            .any(|line| line.trim_start().starts_with('T'))
            .then_some(())
    });
    succeeds(&run(&platform, 1, &json!({"try": "need"})), "warm");
}

#[test]
fn an_idle_sandbox_gets_no_processor_time() {
    let platform = lent(Settings::new(Driver::Sandbox));
    succeeds(&run(&platform, 1, &json!({"try": "need"})), "cold");
    wait::until("the program is stopped", wait::SOON, || {
        let processes = platform.processes();
        let mut stopped = processes.iter().map(|process| process.pid);
        stopped.any(processes::is_stopped).then_some(())
    });
    succeeds(&run(&platform, 1, &json!({"try": "need"})), "warm");
}

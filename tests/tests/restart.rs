//! `kill -9` of the platform while it works, and a restart (issue 2, point 4).

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use burst_client::{Body, Flare, GetLogsQuery};
use burst_tests::{Driver, Platform, Settings, docker, failing, read_json, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

#[test]
fn a_killed_platform_recovers_with_process_packs() {
    recovers_from_a_kill(Driver::Process);
}

#[test]
fn a_killed_platform_recovers_with_docker_packs() {
    recovers_from_a_kill(Driver::Docker);
}

#[test]
fn a_killed_platform_recovers_with_sandboxes() {
    recovers_from_a_kill(Driver::Sandbox);
}

#[test]
fn a_killed_platform_recovers_with_root_sandboxes() {
    recovers_from_a_kill_with(Settings::new(Driver::Sandbox).as_root(), Driver::Sandbox);
}

fn recovers_from_a_kill(driver: Driver) {
    recovers_from_a_kill_with(Settings::new(driver), driver);
}

fn recovers_from_a_kill_with(settings: Settings, driver: Driver) {
    let mut platform = Platform::start(settings.slots(4));
    failing::deploy(&platform);
    let definition = read_json(platform.api().client().get_definition(failing::NAME));
    let finished = platform.api().run(failing::NAME, 2, &failing::succeed());
    assert_eq!(finished.state, "succeeded", "{finished:#?}");
    let kept = kept(&platform, &finished);

    let running = hold(&platform, 4, failing::LONG);
    platform.api().all_wrote(&running, failing::MARK);
    let queued = hold(&platform, 3, Duration::from_millis(10));
    assert_eq!(platform.api().status(&queued).state, "queued");
    let old = platform.pid();
    let packs: BTreeSet<_> = platform
        .processes()
        .into_iter()
        .filter(|process| process.pid != old)
        .collect();
    let containers: BTreeSet<_> = platform.containers().iter().map(docker::id).collect();
    match driver.has_containers() {
        true => assert!(!containers.is_empty(), "no containers of packs seen"),
        false => assert!(!packs.is_empty(), "no processes of packs seen"),
    }

    platform.kill();
    platform.start_again();

    // Nothing of the old platform survives.
    wait::until_seen(
        "orphans of the old platform are gone",
        wait::SOON,
        || {
            let processes: Vec<_> = platform.processes().intersection(&packs).cloned().collect();
            let now: BTreeSet<_> = platform.containers().iter().map(docker::id).collect();
            (
                processes,
                now.intersection(&containers).cloned().collect::<Vec<_>>(),
            )
        },
        |(processes, containers)| processes.is_empty() && containers.is_empty(),
    );

    // Finished flares and definitions are unchanged.
    let found = read_json(platform.api().client().get_definition(failing::NAME));
    assert_eq!(found, definition);
    assert_eq!(self::kept(&platform, &finished), kept);

    // Interrupted flares report it to everyone.
    let flare = platform.api().ended(&running);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    let error = flare.error.expect("a reason");
    assert_eq!(error.kind, "controller-restarted", "{error:#?}");
    assert!(error.message.contains("restart"), "{error:#?}");
    for output in platform.api().result(&running).outputs {
        assert!(output.error.is_some(), "one error per worker: {output:#?}");
    }
    let logs = platform.api().logs(&running).logs;
    assert_eq!(
        logs.iter()
            .filter(|line| line.line.starts_with(failing::MARK))
            .count(),
        4
    );

    // Waiting flares run.
    let flare = platform.api().ended(&queued);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    wait::until_seen(
        "slots are free",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 4,
    );
    // And so does a new flare.
    assert_eq!(
        platform
            .api()
            .run(failing::NAME, 4, &failing::succeed())
            .state,
        "succeeded"
    );
}

/// As if the machine were suspended, or had no processor time for it.
#[test]
fn a_paused_platform_resumes() {
    let platform = Platform::start(Settings::new(Driver::Process).slots(4));
    failing::deploy(&platform);
    let running = hold(&platform, 4, Duration::from_secs(10));
    platform.api().all_wrote(&running, failing::MARK);
    let pid = Pid::from_raw(i32::try_from(platform.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    // Longer than its parts are normally silent.
    thread::sleep(Duration::from_secs(7));
    kill_process(pid, Signal::CONT).unwrap();
    let next = hold(&platform, 4, Duration::from_millis(10));
    for flare in [running, next] {
        let flare = platform.api().ended(&flare);
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
    }
}

fn hold(platform: &Platform, size: u32, time: Duration) -> String {
    let request =
        json!({"size": size, "params": failing::hold(time), "timeout": failing::LONG_TIMEOUT});
    platform.api().flare(failing::NAME, &request)
}

/// Everything that the API reports of a finished flare.
fn kept(platform: &Platform, flare: &Flare) -> Vec<Value> {
    let (client, id) = (platform.api().client(), &flare.flare_id);
    let logs = client.get_logs(id, &GetLogsQuery::default());
    let mut timeline = read_json(client.get_timeline(id));
    // The timeline includes the time of the request.
    timeline.as_object_mut().unwrap().remove("now");
    vec![
        read_json(client.get_flare(id)),
        read_json(client.get_result(id).and_then(Body::text)),
        read_json(logs.and_then(Body::text)),
        timeline,
    ]
}

#[test]
fn a_platform_stops_cleanly_while_a_flare_runs() {
    let mut platform = Platform::start(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let id = hold(&platform, 4, failing::LONG);
    platform.api().all_wrote(&id, failing::MARK);
    // Checks that it ends within its time limit and leaves nothing behind.
    platform.stop();
    platform.start_again();
    let flare = platform.api().ended(&id);
    assert!(
        matches!(flare.state.as_str(), "failed" | "cancelled"),
        "{flare:#?}"
    );
    assert!(flare.error.is_some(), "{flare:#?}");
    assert_eq!(platform.api().free_slots(), platform.slots());
}

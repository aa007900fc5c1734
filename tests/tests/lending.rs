//! Platforms that tests borrow one after another: no test sees what another has left, and forbidden leftovers fail the
//! run.

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::Duration;

use burst_client::{
    ListActionsQuery, ListActivationsQuery, ListDefinitionsQuery, ListFlaresQuery, ListGroupsQuery,
};
use burst_tests::{Driver, Platform, Settings, command, failing, processes, read_json, refused};
use serde_json::json;

/// No other test uses this many slots, so none borrows one of these.
fn settings() -> Settings {
    Settings::new(Driver::Process).slots(3)
}

#[test]
fn a_borrower_finds_nothing_of_the_previous_one() {
    let first = Platform::lent(settings());
    let (pid, before) = (first.pid(), first.footprint());
    let (mine, name) = (first.api().clone(), first.namespace().to_owned());
    failing::deploy(&first);
    let warm = mine.run(failing::NAME, 1, &failing::succeed());
    assert_eq!(warm.state, "succeeded", "{warm:#?}");
    let group = json!({"definition": failing::NAME, "size": 1});
    let group = mine.client().open_group(&group).unwrap().read().unwrap();
    let running = mine.flare(failing::NAME, &failing::holding(2, failing::LONG));
    mine.all_wrote(&running, failing::MARK);
    mine.flare(failing::NAME, &failing::holding(3, failing::LONG));
    let file = first.scratch().join("file");
    fs::write(&file, "").unwrap();
    drop(first);

    let next = Platform::lent(settings());
    assert_eq!(next.pid(), pid, "it is the same platform");
    assert_eq!(next.footprint(), before);
    assert_ne!(next.namespace(), name);
    assert!(!file.exists());
    let definitions = ListDefinitionsQuery::default();
    refused(mine.client().list_definitions(&definitions), 401);
    let client = next.api().client();
    let lists = [
        read_json(client.list_definitions(&definitions)),
        read_json(client.list_actions(&ListActionsQuery::default())),
        read_json(client.list_flares(&ListFlaresQuery::default())),
        read_json(client.list_groups(&ListGroupsQuery::default())),
        read_json(client.list_activations(&ListActivationsQuery::default())),
    ];
    assert!(lists.iter().all(|list| *list == json!([])), "{lists:#?}");
    refused(client.get_group(&group.group_id), 404);
    // Like the first, it has all slots and packs of its own.
    failing::deploy(&next);
    let cold = next.api().run(failing::NAME, 3, &failing::succeed());
    assert_eq!(cold.packs[0].start, Some("cold".into()), "{cold:#?}");
}

#[test]
fn a_failed_test_stops_its_platform() {
    let mut pid = None;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let platform = Platform::lent(settings().slots(5));
        pid = Some(platform.pid());
        panic!("on purpose");
    }));
    assert!(failed.is_err());
    assert!(!processes::lives(pid.expect("it was borrowed")));
}

/// Starts another process of this test program, with this test alone, which leaves a process in its platform's
/// directory. All of its tests succeed, but the run fails.
#[test]
fn processes_that_outlive_a_lent_platform_fail_the_run() {
    const LEAVES: &str = "BURST_TEST_LEAVES_A_PROCESS";
    const NAME: &str = "lending::processes_that_outlive_a_lent_platform_fail_the_run";
    if env::var_os(LEAVES).is_some() {
        let data = Platform::lent(settings()).data();
        let mut left = Command::new("sleep");
        left.arg("600").current_dir(data);
        left.stdout(Stdio::null()).stderr(Stdio::null());
        // Whoever finds it ends it.
        std::mem::forget(command::spawn(left).unwrap());
        return;
    }
    let mut run = Command::new(env::current_exe().unwrap());
    run.args(["--exact", NAME]).env(LEAVES, "yes");
    let ran = command::run(&mut run, Duration::from_secs(600)).exits(101);
    assert!(ran.stdout.contains("1 passed"), "{ran:#?}");
    ran.complains_of("did not end well: processes outlive the platform")
        .complains_of("sleep 600");
}

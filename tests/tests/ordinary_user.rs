//! Conditions of an ordinary user that the platform's authors may not have: nothing here needs root, and every other
//! test runs the platform as such a user, too (`burst_tests::account`).

use std::time::Duration;

use burst_tests::account::{self, Account};
use burst_tests::node::{self, Node};
use burst_tests::{Driver, Platform, Settings, built, port, processes};
use serde_json::json;

/// Without a user name or a home directory, and with files that others cannot read by default.
fn runs_with_private_files(driver: Driver) {
    let settings = Settings::new(driver).surroundings("umask 077 && unset HOME USER LOGNAME");
    let platform = Platform::start(settings);
    assert_eq!(platform.api().invokers().len(), 1);
    let program = built::program("hello");
    let deploy = ["deploy", "hello", program.to_str().unwrap()];
    platform.cli(&deploy).exits(0);
    // In a fresh pack, in a warm one, and in one with a new package that replaces the old one.
    for granularity in [4, 4, 2] {
        let request = json!({"size": 4, "params": {"name": "World"}, "granularity": granularity});
        let flare = platform.api().flare_to_end("hello", &request);
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
    }
}

#[test]
fn a_user_with_private_files_runs_flares() {
    runs_with_private_files(Driver::Process);
}

#[test]
fn a_user_with_private_files_runs_flares_in_containers() {
    runs_with_private_files(Driver::Docker);
}

#[test]
fn a_user_with_private_files_runs_flares_in_sandboxes() {
    runs_with_private_files(Driver::Sandbox);
}

/// Unused packages are evicted: their owner must be able to delete them although they are read-only.
#[test]
fn unused_packages_are_deleted() {
    let settings = Settings::new(Driver::Process)
        .idle_timeout(Duration::from_millis(1))
        .set("burst.invoker.packages.cache-size", "1B");
    let platform = Platform::start(settings);
    let kept = platform.data().join("invoker/packages");
    for (name, params) in [("hello", json!({"name": "World"})), ("noop", json!({}))] {
        let program = built::program(name);
        platform
            .cli(&["deploy", name, program.to_str().unwrap()])
            .exits(0);
        let flare = platform
            .api()
            .flare(name, &json!({"size": 1, "params": params}));
        assert_eq!(platform.api().ended(&flare).state, "succeeded");
        burst_tests::wait::until_seen(
            "the package is gone",
            burst_tests::wait::SOON,
            || burst_tests::disk::files_below(&kept),
            Vec::is_empty,
        );
    }
}

/// The default port is taken by another user.
#[test]
fn a_port_in_use_is_refused_with_advice() {
    let first = Platform::lent(Settings::new(Driver::Process));
    let taken = first.api().address().rsplit(':').next().unwrap().to_owned();
    advises_another_port(&taken, &["standalone"]);
    // A controller whose start fails leaves its cluster; the cause is not that the others went on without it.
    let own = format!("127.0.0.1:{}", port::free("127.0.0.1"));
    advises_another_port(&taken, &["controller", "--node", &own, "--seed", &own]);
}

#[track_caller]
fn advises_another_port(taken: &str, kind: &[&str]) {
    let home = account::directory("burst-second-");
    let data = home.path().join("data");
    let mut arguments = kind.to_vec();
    arguments.extend(["--port", taken, "--data", data.to_str().unwrap()]);
    let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
    let account = Account::ordinary(Driver::Process);
    let command = node::burst(&[], &account, home.path(), &arguments);
    let (log, token) = (home.path().join("said"), node::token());
    let mut second = Node::spawn(command, &log, &token, Duration::from_secs(600));
    let output = second
        .ready()
        .expect_err("it is ready on a port that is taken")
        .output;
    assert!(output.contains("another --port"), "{output}");
    assert!(!output.contains("without this one"), "{output}");
    assert_eq!(
        output
            .lines()
            .filter(|line| line.starts_with("burst: "))
            .count(),
        1,
        "{output}"
    );
    let left = processes::of_platform(None, &token, &data);
    assert!(left.is_empty(), "{left:#?}");
}

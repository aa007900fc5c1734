//! Versions of a definition: the latest ones are kept, can be flared, and can be rolled back to.

use std::time::Duration;

use burst_client::ListVersionsQuery;
use burst_tests::{Driver, Platform, Settings, built, failing, refused};
use serde_json::{Value, json};

const NAME: &str = "changing";

/// Deploys another definition's program under the name.
fn deploy(platform: &Platform, program: &str, flags: &[&str]) {
    let program = built::program(program);
    let deploy = ["deploy", NAME, program.to_str().unwrap(), "--overwrite"];
    platform.cli(&[&deploy[..], flags].concat()).exits(0);
}

/// The output of the only worker of a flare, through the command line.
fn flare(platform: &Platform, flags: &[&str]) -> Value {
    let flare = ["flare", NAME, "--result"];
    platform.cli(&[&flare[..], flags].concat()).exits(0).json()[0].clone()
}

fn greeting(name: &str) -> Value {
    json!(format!("Hello, {name}, from worker 0 of 1"))
}

/// The version of the newest flare.
fn ran(platform: &Platform) -> Value {
    let flares = platform.cli(&["flares", "--limit", "1", "--output", "json"]);
    flares.exits(0).json()[0]["version"].clone()
}

fn versions(platform: &Platform) -> Vec<String> {
    let client = platform.api().client();
    let versions = client.list_versions(NAME, &ListVersionsQuery::default());
    let versions = versions.unwrap().read().unwrap();
    versions.into_iter().map(|it| it.version).collect()
}

#[test]
fn an_older_version_can_be_flared_and_rolled_back_to() {
    let mut platform = Platform::start(Settings::new(Driver::Process));
    deploy(&platform, "hello", &["--param", "name=Ada"]);
    deploy(&platform, "failing", &["--param", "how=succeed"]);
    deploy(&platform, "hello", &["--param", "name=Grace"]);
    assert_eq!(versions(&platform), ["0.0.3", "0.0.2", "0.0.1"]);

    assert_eq!(flare(&platform, &[]), greeting("Grace"));
    assert_eq!(flare(&platform, &["--version", "0.0.1"]), greeting("Ada"));
    assert_eq!(ran(&platform), "0.0.1");
    let status = platform.cli(&["status", "--last"]).exits(0).stdout;
    assert!(status.contains(&format!("{NAME} 0.0.1")), "{status}");
    flare(&platform, &["--version", "0.0.2"]);
    assert_eq!(ran(&platform), "0.0.2");
    let refused = platform
        .cli(&["flare", NAME, "--version", "0.0.9"])
        .exits(3);
    assert!(
        refused.stderr.contains("version 0.0.9"),
        "{}",
        refused.stderr
    );

    // The kept versions still exist after a restart.
    platform.stop();
    platform.start_again();
    let history = platform.cli(&["history", NAME]).exits(0).stdout;
    assert_eq!(history.lines().count(), 4, "{history}");
    platform.cli(&["rollback", NAME, "--to", "0.0.1"]).exits(0);
    assert_eq!(flare(&platform, &[]), greeting("Ada"));
    assert_eq!(ran(&platform), "0.0.4");
    platform.cli(&["rollback", NAME]).exits(0);
    assert_eq!(flare(&platform, &[]), greeting("Grace"));
    assert_eq!(versions(&platform)[0], "0.0.5");
    platform.cli(&["delete", NAME]).exits(0);
    platform.cli(&["history", NAME]).exits(3);
}

#[test]
fn the_configured_number_of_versions_is_kept_with_their_packages() {
    let settings = Settings::new(Driver::Process).set("burst.store.retention.versions", "2");
    let platform = Platform::start(settings);
    let packages = platform.data().join("controller/packages");
    let stored = || std::fs::read_dir(&packages).unwrap().count();
    // The packages of the platform's own actions.
    let own = stored();
    deploy(&platform, "failing", &[]);
    deploy(&platform, "hello", &[]);
    assert_eq!(stored(), own + 2);
    deploy(&platform, "hello", &["--param", "name=Ada"]);
    assert_eq!(versions(&platform), ["0.0.3", "0.0.2"]);
    assert_eq!(stored(), own + 1);
    let request = json!({"size": 1, "version": "0.0.1"});
    let refused = refused(platform.api().client().flare(NAME, &request), 404);
    assert!(refused.contains("no longer kept"), "{refused}");
}

#[test]
fn groups_and_running_flares_keep_their_version() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let api = platform.api();
    deploy(&platform, "failing", &[]);
    let running = api.flare(
        NAME,
        &json!({"size": 1, "params": failing::hold(Duration::from_secs(2))}),
    );
    api.all_wrote(&running, failing::MARK);
    deploy(&platform, "hello", &[]);
    let group = json!({"definition": NAME, "size": 1, "version": "0.0.1"});
    let group = api.client().open_group(&group).unwrap().read().unwrap();
    let group = group.group_id;
    let flare = json!({"params": failing::count()});
    let flare = api.client().flare_on_group(&group, &flare).unwrap();
    let flare = api.ended(&flare.read().unwrap().flare_id);
    for flare in [flare, api.ended(&running)] {
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
        assert_eq!(flare.version, "0.0.1", "{flare:#?}");
    }
}

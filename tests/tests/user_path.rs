//! An ordinary user's path through the command line (issue 2, point 2).

use burst_tests::{Driver, Loan, Platform, Settings, command, failing, wait};
use serde_json::{Value, json};

fn platform() -> Loan {
    Platform::lent(Settings::new(Driver::Process))
}

fn greetings(size: u32) -> Value {
    (0..size)
        .map(|worker| format!("Hello, World, from worker {worker} of {size}"))
        .collect()
}

/// The newest flare's id, as the command line prints it.
fn newest(platform: &Platform) -> String {
    let flares = platform
        .cli(&["flares", "--output", "json"])
        .exits(0)
        .json();
    flares[0]["flareId"].as_str().unwrap().to_owned()
}

#[test]
fn a_crate_is_deployed_flared_inspected_and_deleted() {
    let platform = platform();
    let burst = |arguments: &[&str]| platform.cli(arguments).exits(0);
    burst(&["deploy", "hello", "examples/hello"]);
    let run = [
        "flare", "hello", "--size", "8", "--param", "name", "World", "--result",
    ];
    assert_eq!(burst(&run).json(), greetings(8));
    let id = newest(&platform);

    assert!(burst(&["list"]).stdout.contains("hello"));
    let list = burst(&["list", "--output", "json"]).json();
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(list[0]["name"], "hello");
    let definition = burst(&["get", "hello", "--output", "json"]).json();
    assert_eq!(
        (&definition["name"], &definition["version"]),
        (&json!("hello"), &json!("0.0.1"))
    );

    let status = burst(&["status", &id, "--output", "json"]).json();
    assert_eq!(status["state"], "succeeded");
    assert_eq!(
        status["workers"].as_array().map(Vec::len),
        Some(8),
        "{status}"
    );
    assert!(burst(&["status", "--last"]).stdout.contains("succeeded"));

    let logs = burst(&["logs", &id]).stdout;
    assert_eq!(logs.matches("greeting World").count(), 8, "{logs}");
    let logs = burst(&["logs", &id, "--worker", "5", "--output", "json"]).json();
    assert_eq!(logs["logs"].as_array().map(Vec::len), Some(1), "{logs}");
    assert_eq!(
        (&logs["logs"][0]["worker"], &logs["logs"][0]["stream"]),
        (&json!(5), &json!("stdout"))
    );

    let timeline = burst(&["timeline", &id, "--output", "json"]).json();
    let phases = timeline["workers"][7]["phases"].as_array().unwrap();
    let names: Vec<&str> = phases
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["invocation", "start", "work"]);
    let mut end = timeline["created"].clone();
    for phase in phases {
        assert_eq!(
            phase["start"], end,
            "phases follow each other without gaps: {phases:?}"
        );
        assert!(
            phase["end"].as_i64() >= phase["start"].as_i64(),
            "{phases:?}"
        );
        end = phase["end"].clone();
    }
    assert!(burst(&["timeline", "--last"]).stdout.contains("invocation"));
    assert_eq!(burst(&["result", &id]).json(), greetings(8));

    burst(&["delete", "hello"]);
    platform.cli(&["get", "hello"]).exits(3);
    // Results outlive the definition.
    assert_eq!(burst(&["result", &id]).json(), greetings(8));
}

#[test]
fn a_new_crate_outside_the_repository_is_run_and_inspected() {
    let platform = platform();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("greet");
    let path = path.to_str().unwrap();
    platform.cli(&["new", path]).exits(0);
    // So that it depends only on crates that are already here.
    let lock = burst_tests::built::repository().join("Cargo.lock");
    std::fs::copy(lock, format!("{path}/Cargo.lock")).unwrap();

    let run = ["run", path, "--size", "8", "--param", "name=World"];
    let ran = platform.cli(&run).exits(0);
    assert_eq!(ran.json(), greetings(8));
    let logged = ran.stderr.matches("stdout: greeting World").count();
    assert_eq!(logged, 8, "{ran:?}");

    let id = newest(&platform);
    let beginning = &id[..8];
    let status = platform.cli(&["status", beginning, "--output", "json"]);
    assert_eq!(status.exits(0).json()["flareId"], id.as_str());
    platform.cli(&["wait", beginning]).exits(0);
    let logs = platform.cli(&["logs", beginning, "--follow"]).exits(0);
    assert_eq!(logs.stdout.matches("greeting World").count(), 8, "{logs:?}");
    platform.cli(&["status", &beginning[..3]]).exits(6);
}

#[test]
fn overwriting_creates_a_new_version() {
    let platform = platform();
    failing::deploy(&platform);
    let program = burst_tests::built::program(failing::NAME);
    let program = program.to_str().unwrap();
    platform
        .cli(&["deploy", failing::NAME, program])
        .exits(5)
        .complains_of("--overwrite");
    platform
        .cli(&["deploy", failing::NAME, program, "--overwrite"])
        .exits(0);
    let definition = platform
        .cli(&["get", failing::NAME, "--output", "json"])
        .exits(0)
        .json();
    assert_eq!(definition["version"], "0.0.2");
}

#[test]
fn a_running_flare_is_cancelled() {
    let platform = platform();
    failing::deploy(&platform);
    let hold = [
        "--size",
        "4",
        "--param",
        "how",
        "hold",
        "--param",
        "millis",
        "600000",
        "--timeout",
        "10m",
    ];
    let waiting = platform
        .cli_setup()
        .spawn(&[&["flare", failing::NAME, "--blocking"], &hold[..]].concat());
    let id = wait::until("the flare shows", wait::SOON, || {
        let flares = platform
            .cli(&["flares", "--output", "json"])
            .exits(0)
            .json();
        flares[0]["flareId"].as_str().map(str::to_owned)
    });
    platform.api().all_wrote(&id, failing::MARK);
    assert_eq!(platform.api().free_slots(), 4);
    platform.cli(&["cancel", &id]).exits(0);
    let flare = platform.api().ended(&id);
    assert_eq!(flare.state, "cancelled", "{flare:#?}");
    assert_eq!(
        flare.error.as_ref().unwrap().kind,
        "cancelled",
        "{flare:#?}"
    );
    for worker in &flare.workers {
        assert_eq!(worker.state, "cancelled", "{worker:#?}");
    }
    // A waiting command reports it in its exit code.
    let mut waiting = waiting;
    let status = command::wait(&mut waiting, wait::SOON).expect("the waiting command ends");
    assert_eq!(status.code(), Some(10));
    wait::until_seen(
        "slots are free",
        wait::SOON,
        || platform.api().free_slots(),
        |n| *n == 8,
    );
    platform
        .cli(&["cancel", &id])
        .exits(5)
        .complains_of("ended");
}

#[test]
fn exit_codes_distinguish_failures() {
    let platform = platform();
    failing::deploy(&platform);
    let flare = [
        "flare",
        failing::NAME,
        "--size",
        "2",
        "--blocking",
        "--param",
        "who",
        "1",
    ];
    let burst = |more: &[&str]| platform.cli(&[&flare, more].concat());
    burst(&["--param", "how", "panic"])
        .exits(1)
        .complains_of("worker 1");
    burst(&["--param", "how", "loop", "--timeout", "1500ms"]).exits(9);
    platform.cli(&["flare"]).exits(2);
    platform
        .cli(&["flare", "hello", "--size", "no number"])
        .exits(2);
    platform
        .cli(&["flare", "unknown"])
        .exits(3)
        .complains_of("unknown");
    platform
        .cli(&["status", "0123456789abcdef0123456789abcdef"])
        .exits(3);
    let stranger = "00000000-0000-0000-0000-000000000000:wrong";
    platform.cli_setup().auth(stranger).run(&["list"]).exits(4);
    platform
        .cli(&["flare", failing::NAME, "--size", "0"])
        .exits(6)
        .complains_of("size");
    // Nobody runs the service that port 1 is assigned to.
    platform
        .cli_setup()
        .apihost("http://127.0.0.1:1")
        .run(&["list"])
        .exits(7);
    let broken = platform.scratch().join("broken");
    std::fs::create_dir_all(broken.join("src")).unwrap();
    let manifest = "[package]\nname = \"broken\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(broken.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(broken.join("src/main.rs"), "fn main() { this is no Rust }").unwrap();
    platform
        .cli(&["deploy", "broken", broken.to_str().unwrap()])
        .exits(11);
    platform.cli(&["get", "broken"]).exits(3);
}

#[test]
fn the_properties_file_has_address_and_credentials() {
    let platform = Platform::start(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let written = platform.data().join("properties");
    let mode = std::os::unix::fs::PermissionsExt::mode(&written.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "the key is for its owner alone");
    let burst = platform.cli_setup().properties(&written);
    assert!(burst.run(&["list"]).exits(0).stdout.contains(failing::NAME));

    let own = platform.scratch().join("own.properties");
    let burst = platform.cli_setup().properties(&own);
    let (apihost, auth) = (platform.api().base(), platform.api().auth());
    burst
        .run(&["property", "set", "--apihost", apihost, "--auth", &auth])
        .exits(0);
    assert!(
        burst
            .run(&["property", "get", "--apihost"])
            .exits(0)
            .stdout
            .contains(apihost)
    );
    assert!(
        burst
            .run(&["invokers"])
            .exits(0)
            .stdout
            .contains("invoker0")
    );
}

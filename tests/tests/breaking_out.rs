//! A program that tries to break out of its container, and to exceed each of its limits.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use burst_client::Flare;
use burst_tests::escaping::{NAME, lent, start};
use burst_tests::{Driver, Platform, Settings, built, failing, wait};
use serde_json::{Value, json};

/// Each attempt of the program and the expected error; some kernels lack some of the features.
const REFUSED: &[(&str, &str)] = &[
    ("write to the root", "ReadOnlyFilesystem"),
    ("write where programs are", "ReadOnlyFilesystem"),
    ("replace the runtime", "PermissionDenied"),
    ("write to the package", "ReadOnlyFilesystem"),
    ("run what it wrote", "PermissionDenied"),
    ("run what it shares", "PermissionDenied"),
    ("become root", "PermissionDenied"),
    ("join root's group", "PermissionDenied"),
    ("take a capability", "PermissionDenied"),
    ("open a raw socket", "PermissionDenied"),
    ("open a packet socket", "PermissionDenied"),
    ("mount a file system", "PermissionDenied"),
    ("remount the root writable", "PermissionDenied"),
    ("give a file away", "PermissionDenied"),
    ("make a device", "PermissionDenied"),
    ("find a disk", "NotFound"),
    ("change the root", "PermissionDenied"),
    ("name the host", "PermissionDenied"),
    ("set the clock", "PermissionDenied"),
    ("make a user name space", "PermissionDenied"),
    ("make a mount name space", "PermissionDenied"),
    ("enter the runtime's name space", "PermissionDenied"),
    ("take a descriptor of the runtime", "PermissionDenied"),
    ("write to the runtime's memory", "PermissionDenied"),
    ("look through the runtime's root", "PermissionDenied"),
    ("change the kernel's settings", "PermissionDenied"),
    ("order the kernel about", "PermissionDenied|NotFound"),
    ("read the kernel's memory", "UnexpectedEof|NotFound"),
    ("raise its limits", "PermissionDenied"),
    ("reach docker", "NotFound"),
    ("see other processes", "NotFound"),
    ("kill the runtime", "Unsupported"),
    ("stop the runtime", "Unsupported"),
];

/// Attempts with a different error in a sandbox, in which only its own user exists, and none of the machine's
/// directories but the C library.
const REFUSED_IN_SANDBOX: &[(&str, &str)] = &[
    ("write where programs are", "NotFound"),
    ("replace the runtime", "NotFound"),
    ("become root", "InvalidInput"),
    ("join root's group", "InvalidInput"),
    ("give a file away", "InvalidInput"),
    // With control groups, the pack's own group is visible.
    ("raise its limits", "PermissionDenied|Other"),
];

/// Returns the output of a flare with one worker, which must succeed.
#[track_caller]
fn output(platform: &Platform, options: &Value) -> Value {
    let flare = platform.api().flare_to_end(NAME, options);
    assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    let outputs = platform.api().result(&flare.flare_id).outputs;
    outputs[0].read().unwrap().unwrap()
}

#[test]
fn a_program_cannot_escape_its_container() {
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = open.path().join(NAME);
    fs::copy(built::program(NAME), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    let mount = format!("{}:/open:ro", open.path().display());
    let platform = start(Settings::new(Driver::Docker).flag("--mount", mount));

    let input = json!({"try": "everything", "setuid": format!("/open/{NAME}")});
    let tried = output(&platform, &json!({"size": 1, "params": input}));
    all_refused(&tried, &[]);
    let owner = copy.metadata().unwrap().uid();
    let user = tried["user"].as_u64().unwrap();
    assert_ne!(user, 0);
    assert_ne!(
        user,
        u64::from(owner),
        "the file's owner has nothing that the program lacks"
    );
    assert_eq!(tried["setuid"], user.to_string());
}

#[test]
fn a_program_cannot_escape_its_sandbox() {
    for settings in [
        Settings::new(Driver::Sandbox),
        Settings::new(Driver::Sandbox).as_root(),
    ] {
        let platform = lent(settings);
        let input = json!({"try": "everything"});
        let tried = output(&platform, &json!({"size": 1, "params": input}));
        all_refused(&tried, REFUSED_IN_SANDBOX);
        assert_ne!(tried["user"], 0);
    }
}

/// Checks that no attempt succeeded and that each was refused with the expected error.
#[track_caller]
fn all_refused(tried: &Value, otherwise: &[(&str, &str)]) {
    let attempts = tried["attempts"].as_object().unwrap();
    let known: BTreeSet<&str> = REFUSED.iter().map(|(attempt, _)| *attempt).collect();
    let made: BTreeSet<&str> = attempts.keys().map(String::as_str).collect();
    assert_eq!(made, known);
    let wrong: Vec<_> = (REFUSED.iter())
        .map(|(attempt, refused)| {
            let other = otherwise.iter().find(|(other, _)| other == attempt);
            let refused = other.map_or(refused, |(_, refused)| refused);
            (attempt, &attempts[*attempt], refused)
        })
        .filter(|(_, met, refused)| {
            met.as_str()
                .is_none_or(|met| refused.split('|').all(|kind| kind != met))
        })
        .collect();
    assert!(wrong.is_empty(), "attempt, met, expected: {wrong:#?}");
}

#[test]
fn a_program_in_a_container_stays_within_its_limits() {
    stays_within_its_limits(Driver::Docker, Settings::new(Driver::Docker));
}

/// Without control groups, an ordinary user cannot limit processor time.
#[test]
fn a_program_in_a_root_sandbox_stays_within_its_limits() {
    let driver = Driver::Sandbox;
    stays_within_its_limits(driver, Settings::new(driver).as_root());
}

#[track_caller]
fn stays_within_its_limits(driver: Driver, settings: Settings) {
    let key = |name: &str| format!("burst.invoker.{}.{name}", driver.name());
    let platform = start(
        settings
            .set(&key("pids"), "50")
            .set(&key("pids-per-worker"), "14")
            .set(&key("tmp-size"), "20"),
    );
    let request = json!({"size": 1, "params": {"try": "limits"}, "memory": 256});
    let taken = output(&platform, &request);
    let (threads, refused) = (taken["threads"][0].as_u64().unwrap(), &taken["threads"][1]);
    assert_eq!(refused, "WouldBlock", "{threads} threads");
    assert!((20..64).contains(&threads), "{threads} threads");
    assert_eq!(taken["scratch"], json!([20 << 20, "StorageFull"]));
    let (shared, refused) = (taken["shared"][0].as_u64().unwrap(), &taken["shared"][1]);
    assert_eq!(refused, "StorageFull", "{shared} bytes");
    assert!(shared <= 64 << 20, "{shared} bytes");
    let processors = taken["processors"].as_f64().unwrap();
    assert!(
        processors < 1.3,
        "one worker used {processors:.2} processors"
    );
}

#[test]
fn a_pack_that_exceeds_its_memory_is_killed_alone() {
    Settings::isolated()
        .into_iter()
        .for_each(exceeding_its_memory_ends_only_its_pack);
}

#[track_caller]
fn exceeding_its_memory_ends_only_its_pack(settings: Settings) {
    const MEMORY: u32 = 128;
    let platform = lent(settings);
    failing::deploy(&platform);
    let api = platform.api();
    let mut other = failing::holding(1, failing::LONG);
    other["memory"] = json!(MEMORY);
    let other = api.flare(failing::NAME, &other);
    api.all_wrote(&other, failing::MARK);

    let request = json!({"size": 1, "params": failing::input("eat-memory", 0), "memory": MEMORY});
    let flare = api.flare_to_end(failing::NAME, &request);
    assert_eq!(flare.state, "failed");
    let error = flare.error.as_ref().unwrap();
    assert_eq!(
        (error.kind.as_str(), error.pack),
        ("out-of-memory", Some(0))
    );
    let mebibytes = eaten(&platform, &flare);
    assert!(
        (32..2 * MEMORY).contains(&mebibytes),
        "{mebibytes} MiB could be had"
    );

    let survivor = api.status(&other);
    assert_eq!(survivor.state, "running", "{:#?}", survivor.error);
    api.cancel(&other);
    api.ended(&other);
}

/// The MiB that the program could report having.
fn eaten(platform: &Platform, flare: &Flare) -> u32 {
    let logs = platform.api().logs(&flare.flare_id).logs;
    let last = (logs.iter().rev()).find_map(|line| line.line.strip_prefix("now: eaten "));
    let (number, _) = last.unwrap().split_once(' ').unwrap();
    number.parse().unwrap()
}

#[test]
fn a_program_that_ends_its_runtime_ends_only_its_own_pack() {
    Settings::isolated()
        .into_iter()
        .for_each(ending_its_runtime_ends_only_its_pack);
}

#[track_caller]
fn ending_its_runtime_ends_only_its_pack(settings: Settings) {
    let platform = lent(settings);
    let before = platform.footprint();
    let id = platform
        .api()
        .flare(NAME, &json!({"size": 1, "params": {"try": "end-runtime"}}));
    let flare = platform.api().ended(&id);
    assert_eq!(flare.state, "failed");
    assert!(flare.error.is_some());
    wait::until_seen(
        "all is as before",
        wait::SOON,
        || platform.footprint(),
        |now| *now == before,
    );
}

//! Environment variables and secrets of a definition: programs get them, and nobody else sees a secret.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use burst_client::{Flare, ListVersionsQuery, Start};
use burst_tests::{Driver, Platform, Settings, failing, wait};
use serde_json::json;

const NAME: &str = failing::NAME;

/// A value that exists nowhere else on this machine.
fn word() -> String {
    let bytes: [u8; 16] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file with a secret, as a user would keep it.
fn file(platform: &Platform, content: &str) -> String {
    let path = platform.scratch().join("secret.txt");
    fs::write(&path, format!("{content}\n")).unwrap();
    format!("TOKEN=@{}", path.display())
}

fn deploy(platform: &Platform, flags: &[&str]) {
    let overwrite = [&["--overwrite"][..], flags].concat();
    failing::deploy_as(platform, NAME, &overwrite);
}

/// The process of a pack and its variables.
struct Seen {
    process: String,
    variables: BTreeMap<String, String>,
    start: Start,
}

impl Seen {
    fn of(platform: &Platform, flare: &Flare) -> Self {
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
        let result = platform.api().result(&flare.flare_id);
        let output: String = result.outputs[0].read().unwrap().unwrap();
        let mut lines = output.lines();
        let process = lines.next().unwrap().to_owned();
        let variables = lines.map(|line| line.split_once('=').unwrap());
        Self {
            process,
            variables: variables.map(|(k, v)| (k.into(), v.into())).collect(),
            start: flare.packs[0].start.clone().unwrap(),
        }
    }

    /// Returns whether a variable has this value, or is not set if `None`.
    fn has(&self, name: &str, value: Option<&str>) -> bool {
        let hash = value.map(|value| {
            let mut hasher = DefaultHasher::new();
            value.hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        });
        self.variables.get(name) == hash.as_ref()
    }
}

fn flare(platform: &Platform) -> Seen {
    let flare = platform.api().run(NAME, 1, &failing::variables());
    Seen::of(platform, &flare)
}

/// Files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path()),
            Ok(kind) if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

/// Checks that a secret is in none of the platform's files, containers and command lines.
fn appears_nowhere(platform: &Platform, secret: &str) {
    for path in files(&platform.data())
        .into_iter()
        .chain([platform.log_file()])
    {
        // It may have been removed in the meantime.
        let content = fs::read(&path).unwrap_or_default();
        let found = memchr::memmem::find(&content, secret.as_bytes());
        assert!(found.is_none(), "{}", path.display());
    }
    for container in platform.containers() {
        assert!(!container.to_string().contains(secret), "{container:#}");
    }
    for process in platform.processes() {
        assert!(!process.command.contains(secret), "{process:?}");
    }
}

/// Across redeploys, in cold, pre-warmed and warm packs.
fn programs_have_their_variables(settings: Settings, fresh: &str) {
    let platform = Platform::lent(settings);
    let (old, new) = (word(), word());
    deploy(
        &platform,
        &[
            "--env",
            "GREETING=salut à tous",
            "--secret",
            &file(&platform, &old),
        ],
    );

    let first = flare(&platform);
    assert!(first.has("GREETING", Some("salut à tous")));
    assert!(first.has("TOKEN", Some(&old)));
    let again = flare(&platform);
    assert_eq!(
        (again.start.as_str(), &again.process),
        ("warm", &first.process)
    );
    appears_nowhere(&platform, &old);
    let client = platform.api().client();
    let versions = client.list_versions(NAME, &ListVersionsQuery::default());
    for shown in [
        client.get_definition(NAME).unwrap().into_text(),
        versions.unwrap().into_text(),
        client.get_version(NAME, "0.0.1").unwrap().into_text(),
    ] {
        assert!(!shown.contains(&old), "{shown}");
    }
    let shown = platform.cli(&["get", NAME]).exits(0).stdout;
    assert!(shown.contains("TOKEN") && !shown.contains(&old), "{shown}");

    // A redeploy keeps what it does not name. A program with the old secret is not reused.
    deploy(&platform, &["--secret", &file(&platform, &new)]);
    let changed = flare(&platform);
    assert!(changed.has("GREETING", Some("salut à tous")));
    assert!(changed.has("TOKEN", Some(&new)));
    // Nor is one of an older version, as secrets are shared by all versions.
    let older = json!({"size": 1, "params": failing::variables(), "version": "0.0.1"});
    let older = platform.api().flare_to_end(NAME, &older);
    let older = Seen::of(&platform, &older);
    assert!(older.has("TOKEN", Some(&new)));
    assert_eq!(older.start.as_str(), fresh);

    // Removed variables are no longer set, and neither are they for another definition.
    deploy(&platform, &["--no-env", "--no-secret", "TOKEN"]);
    failing::deploy_as(&platform, "other", &[]);
    let other = platform.api().run("other", 1, &failing::variables());
    for seen in [flare(&platform), Seen::of(&platform, &other)] {
        assert!(seen.has("GREETING", None) && seen.has("TOKEN", None));
    }
    appears_nowhere(&platform, &new);
}

#[test]
fn programs_in_processes_have_their_variables() {
    programs_have_their_variables(Settings::new(Driver::Process), "cold");
}

#[test]
fn programs_in_prewarmed_processes_have_their_variables() {
    let platform = Platform::start(Settings::new(Driver::Process).prewarmed(1));
    deploy(&platform, &["--env", "A=1"]);
    let ready = || platform.api().prewarmed_packs();
    wait::until_seen("a pack is pre-warmed", wait::SOON, ready, |packs| {
        *packs > 0
    });
    let seen = flare(&platform);
    assert!(seen.has("A", Some("1")));
    assert_eq!(seen.start.as_str(), "prewarmed");
}

#[test]
fn programs_in_containers_have_their_variables() {
    programs_have_their_variables(Settings::new(Driver::Docker), "cold");
}

#[test]
fn programs_in_sandboxes_have_their_variables() {
    programs_have_their_variables(Settings::new(Driver::Sandbox), "cold");
}

#[test]
fn groups_have_their_variables() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let secret = word();
    deploy(&platform, &["--secret", &file(&platform, &secret)]);
    let group = json!({"definition": NAME, "size": 1});
    let client = platform.api().client();
    let group = client.open_group(&group).unwrap().read().unwrap().group_id;
    for _ in 0..2 {
        let flare = json!({"params": failing::variables()});
        let flare = client
            .flare_on_group(&group, &flare)
            .unwrap()
            .read()
            .unwrap();
        let seen = Seen::of(&platform, &platform.api().ended(&flare.flare_id));
        assert!(seen.has("TOKEN", Some(&secret)));
    }
}

#[test]
fn secrets_are_available_only_with_their_key() {
    let mut platform = Platform::start(Settings::new(Driver::Process));
    let secret = word();
    deploy(&platform, &["--secret", &file(&platform, &secret)]);
    failing::deploy_as(&platform, "plain", &[]);
    let key = platform.data().join("controller/secrets.key");
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let away = platform.scratch().join("away");

    // Without the key everything else still works.
    platform.stop();
    fs::rename(&key, &away).unwrap();
    platform.start_again();
    let failed = platform.api().run(NAME, 1, &failing::variables());
    let error = failed.error.expect("a reason");
    assert!(
        error.message.contains("TOKEN") && error.message.contains("no key"),
        "{error:?}"
    );
    assert_eq!(
        platform.api().run("plain", 1, &failing::succeed()).state,
        "succeeded"
    );
    let program = burst_tests::built::program(NAME);
    let token = file(&platform, &secret);
    let deploy = [
        "deploy",
        "new",
        program.to_str().unwrap(),
        "--secret",
        &token,
    ];
    let refused = platform.cli(&deploy).exits(8).stderr;
    assert!(refused.contains("no key for secrets"), "{refused}");

    platform.stop();
    fs::rename(&away, &key).unwrap();
    platform.start_again();
    assert!(flare(&platform).has("TOKEN", Some(&secret)));
}

//! OpenWhisk's own clients, unmodified, and ours under the same name.

use std::fs;
use std::process::Command;
use std::time::Duration;

use burst_tests::command::{self, Finished};
use burst_tests::{Driver, Platform, Settings, built};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(600);

/// Runs everything that the npm package can do, as a third party's program would.
#[track_caller]
fn npm(platform: &Platform, variables: &[(&str, &str)]) -> Finished {
    let clients = built::repository().join("tests/clients");
    assert!(
        clients.join("node_modules/openwhisk").is_dir(),
        "the npm package is missing: run tests/prepare.sh"
    );
    let mut node = Command::new("node");
    node.arg("openwhisk.mjs")
        .current_dir(clients)
        .env("__OW_API_HOST", platform.api().base())
        .env("__OW_API_KEY", platform.api().auth())
        .envs(variables.iter().copied());
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "PROXY"] {
        node.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    command::run(&mut node, LIMIT)
}

#[test]
fn openwhisks_npm_package_works() {
    let platform = Platform::start(Settings::new(Driver::Process));
    npm(&platform, &[]).exits(0);
}

#[test]
fn openwhisks_npm_package_works_over_tls() {
    let platform = Platform::start(Settings::new(Driver::Process).switch("--tls"));
    let certificate = platform.data().join("api.pem");
    let trusted = certificate.to_str().unwrap();
    npm(&platform, &[("NODE_EXTRA_CA_CERTS", trusted)]).exits(0);
    // A client that does not trust the certificate fails, unless it disables the check.
    npm(&platform, &[]).exits(1);
    npm(
        &platform,
        &[
            ("__OW_IGNORE_CERTS", "true"),
            ("NODE_TLS_REJECT_UNAUTHORIZED", "0"),
        ],
    )
    .exits(0);
}

/// Scripts that call `wsk`, in a directory of their own.
struct Script {
    directory: TempDir,
}

impl Script {
    #[track_caller]
    fn new(platform: &Platform) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = Self { directory };
        let properties = fs::read_to_string(platform.data().join("properties")).unwrap();
        script.file("properties", &properties);
        script
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).unwrap();
    }

    #[track_caller]
    fn wsk(&self, line: &str) -> Finished {
        let mut wsk = Command::new(built::dist("bin/wsk"));
        wsk.args(line.split(' '))
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env("WSK_CONFIG_FILE", "properties");
        command::run(&mut wsk, LIMIT)
    }

    /// Runs a call that must succeed and print exactly this first line.
    #[track_caller]
    fn prints(&self, line: &str, first: &str) -> Finished {
        let finished = self.wsk(line).exits(0);
        assert_eq!(finished.stdout.lines().next(), Some(first), "{finished:?}");
        finished
    }
}

#[test]
fn wsk_scripts_run_unchanged() {
    let platform = Platform::start(Settings::new(Driver::Process).switch("--tls"));
    let script = Script::new(&platform);
    script.file(
        "hello.py",
        "def main(args):\n    print('greeting', args['name'])\n    return {'greeting': 'Hello ' + args['name']}\n",
    );
    script.file(
        "bad.js",
        "function main() { return { error: 'on purpose' } }\n",
    );
    script.file("page.js", "function main() { return { body: 'a page' } }\n");
    script.prints(
        "action create hello hello.py -p name nobody",
        "ok: created action hello",
    );
    script.wsk("action create hello hello.py").exits(153);
    script.wsk("action get missing").exits(148);
    script.prints(
        "action update hello --memory 256",
        "ok: updated action hello",
    );
    let result = script.wsk("action invoke hello -r -p name Ada").exits(0);
    assert_eq!(result.json(), serde_json::json!({"greeting": "Hello Ada"}));
    let logs = script.wsk("activation logs --last --strip").exits(0);
    assert_eq!(logs.stdout, "greeting Ada\n");
    script.prints("action create bad bad.js", "ok: created action bad");
    script
        .wsk("action invoke bad -b")
        .exits(246)
        .complains_of("on purpose");
    script.prints(
        "action create both --sequence hello,hello",
        "ok: created action both",
    );

    script.prints(
        "package create tools -p name package",
        "ok: created package tools",
    );
    script.prints("package bind tools bound", "ok: created binding bound");
    script.prints(
        "action create tools/hello hello.py",
        "ok: created action tools/hello",
    );
    let bound = script.wsk("action invoke bound/hello -r").exits(0);
    assert_eq!(
        bound.json(),
        serde_json::json!({"greeting": "Hello package"})
    );
    script.wsk("package delete tools").exits(153);

    script.prints("trigger create event", "ok: created trigger event");
    let idle = script.wsk("trigger fire event").exits(0);
    assert!(idle.stdout.contains("did not fire"), "{idle:?}");
    script.prints(
        "rule create on-event event hello",
        "ok: created rule on-event",
    );
    script.prints("rule disable on-event", "ok: disabled rule on-event");
    script.prints("rule status on-event", "ok: rule on-event is inactive");
    script.prints("rule enable on-event", "ok: enabled rule on-event");
    let fired = script.wsk("trigger fire event -p name Eve").exits(0);
    assert!(
        fired.stdout.starts_with("ok: triggered /_/event with id "),
        "{fired:?}"
    );

    script.prints(
        "action create page page.js --web true",
        "ok: created action page",
    );
    let url = script.prints("action get page --url", "ok: got action page");
    assert!(
        url.stdout.ends_with("/api/v1/web/guest/default/page\n"),
        "{url:?}"
    );
    let listed = script.prints("list", "Entities in namespace: _").stdout;
    for name in [
        "/guest/tools/hello",
        "/guest/bound",
        "/guest/event",
        "/guest/on-event",
    ] {
        assert!(listed.contains(&format!("{name} ")), "{name}: {listed}");
    }
    script.prints("rule delete on-event", "ok: deleted rule on-event");
    script.prints("package delete bound", "ok: deleted package bound");
    script.prints("package delete tools --force", "ok: deleted package tools");
    let build = script.wsk("property get --apibuildno").exits(0).stdout;
    assert!(build.starts_with("whisk API build number\t"), "{build}");
}

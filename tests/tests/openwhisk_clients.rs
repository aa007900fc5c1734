//! OpenWhisk's own clients, unchanged, and ours by their name.

use std::process::Command;
use std::time::Duration;

use burst_tests::command::{self, Finished};
use burst_tests::{Driver, Platform, Settings, built};

const LIMIT: Duration = Duration::from_secs(180);

/// Runs all that the npm package can do, as a program of somebody else's would.
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
fn the_npm_package_does_all_it_can() {
    let platform = Platform::start(Settings::new(Driver::Process));
    npm(&platform, &[]).exits(0);
}

#[test]
fn the_npm_package_does_all_it_can_over_tls() {
    let platform = Platform::start(Settings::new(Driver::Process).switch("--tls"));
    let certificate = platform.data().join("api.pem");
    let trusted = certificate.to_str().unwrap();
    npm(&platform, &[("NODE_EXTRA_CA_CERTS", trusted)]).exits(0);
    // Whoever does not trust the certificate gets nowhere, unless he says that he does not care.
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

//! Every operation of workers, on every backend and driver, through the platform, which uses a separate user on the
//! server for each flare.

use burst_tests::backends::{self, Backend};
use burst_tests::{Driver, Platform, Settings, built, collectives, docker, wait};
use serde_json::json;

/// Runs all operations on three packs of two workers, so that there are members of a pack, leaders, and workers between
/// them.
#[track_caller]
fn all_operations(platform: &Platform, backend: &str) {
    // Under another name, so that no warm pack of another backend is used.
    let name = format!("collectives-on-{backend}");
    let program = built::program(collectives::NAME);
    let deploy = ["deploy", &name, program.to_str().unwrap()];
    platform.cli(&deploy).exits(0);
    let api = platform.api();
    let request = json!({"size": 6, "params": {}, "granularity": 2, "packing": "homogeneous",
        "timeout": 240_000, "backend": backend});
    // The second run is on the same packs, as another user of the server.
    for start in ["cold", "warm"] {
        let flare = api.flare_to_end(&name, &request);
        assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
        assert_eq!(flare.packs.len(), 3);
        for pack in &flare.packs {
            assert_eq!(pack.start, Some(start.into()));
        }
        collectives::all_called(api, &flare.flare_id);
    }
}

#[test]
fn processes_run_all_collectives_on_every_backend() {
    on_every_backend(Settings::new(Driver::Process), &Driver::Process.host());
}

#[test]
fn containers_run_all_collectives_on_every_backend() {
    on_every_backend(Settings::new(Driver::Docker), &Driver::Docker.host());
}

/// At this machine's loopback address, which a sandbox shares.
#[test]
fn sandboxes_run_all_collectives_on_every_backend() {
    on_every_backend(Settings::new(Driver::Sandbox), &Driver::Sandbox.host());
}

/// At an address to which a sandbox gets a route.
#[test]
fn root_sandboxes_run_all_collectives_on_every_backend() {
    let settings = Settings::new(Driver::Sandbox).as_root();
    on_every_backend(settings, &docker::bridge_gateway());
}

#[track_caller]
fn on_every_backend(settings: Settings, host: &str) {
    let backends = Backend::all(host);
    let platform = Platform::start(backends::offered(&backends, settings));
    for backend in &backends {
        eprintln!("on {}", backend.kind());
        all_operations(&platform, backend.kind());
    }
    let servers = backends.iter().filter_map(|it| it.server.as_ref());
    let look = || -> Vec<_> {
        let left = servers.clone().map(|server| server.left_behind());
        left.flatten().collect()
    };
    wait::until_seen("nothing is left", wait::SOON, look, Vec::is_empty);
    drop(platform);
    assert_eq!(look(), Vec::<String>::new());
}

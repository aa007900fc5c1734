//! Programs that do their worst, each as data: a script that `tests/programs/hostile` plays. After each of them the
//! other tenant's flare still runs, the next flare on the same pack has it all to itself, and invoker and controller
//! are unchanged.

mod ends;
mod files;
mod frames;
mod kernel;
mod memory;
mod network;
mod processes;
mod rabbitmq;
mod redis;
mod relays;
mod s3;
mod script;
mod servers;
mod suite;
mod untrue;

use burst_tests::backends::{self, Backend};
use burst_tests::{
    BackendServer, Driver, Platform, RabbitMq, Redis, S3Process, Settings, Tenants, built, docker,
    wait,
};
use serde_json::{Value, json};

use script::{Script, begin_and_end};

/// The scripts that need no backend's server.
fn scripts() -> Vec<Script> {
    let all = [
        frames::scripts(),
        untrue::scripts(),
        ends::unending(),
        ends::before(),
        processes::scripts(),
        memory::scripts(),
        kernel::scripts(),
        files::scripts(),
        network::scripts(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn scripts_have_unique_names() {
    let all = [
        scripts(),
        servers::scripts(),
        redis::scripts(),
        relays::scripts(),
        rabbitmq::scripts("address"),
        s3::scripts("address", "bucket"),
    ];
    let mut names: Vec<_> = all.iter().flatten().map(|script| script.name).collect();
    assert!(names.len() >= 60, "{}", names.len());
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn hostile_processes_do_not_affect_others() {
    let driver = Driver::Process;
    suite::play(driver, &Platform::lent(suite::settings(driver)), scripts());
}

#[test]
fn hostile_containers_do_not_affect_others() {
    let driver = Driver::Docker;
    suite::play(driver, &Platform::lent(suite::settings(driver)), scripts());
}

#[test]
fn hostile_sandboxes_do_not_affect_others() {
    let driver = Driver::Sandbox;
    let scripts = scripts().into_iter().filter(|script| !script.accounted);
    let platform = Platform::lent(suite::settings(driver));
    suite::play(driver, &platform, scripts.collect());
}

#[test]
fn hostile_root_sandboxes_do_not_affect_others() {
    let driver = Driver::Sandbox;
    let platform = Platform::lent(suite::settings(driver).as_root());
    suite::play(driver, &platform, scripts());
}

#[test]
fn hostile_processes_do_not_affect_others_on_redis() {
    for kind in ["redis-list", "redis-stream"] {
        on(Driver::Process, kind, &Redis::start(), redis::scripts());
    }
}

#[test]
fn hostile_containers_do_not_affect_others_on_redis() {
    let server = Redis::start_at(&docker::bridge_gateway());
    on(Driver::Docker, "redis-list", &server, redis::scripts());
}

#[test]
fn hostile_sandboxes_do_not_affect_others_on_redis() {
    let server = Redis::start_at(&docker::bridge_gateway());
    let scripts = [redis::scripts(), relays::scripts()].concat();
    on(Driver::Sandbox, "redis-list", &server, scripts);
}

#[test]
fn hostile_processes_do_not_affect_others_on_rabbitmq() {
    on_rabbitmq(Driver::Process);
}

#[test]
fn hostile_containers_do_not_affect_others_on_rabbitmq() {
    on_rabbitmq(Driver::Docker);
}

#[test]
fn hostile_sandboxes_do_not_affect_others_on_rabbitmq() {
    on_rabbitmq(Driver::Sandbox);
}

#[track_caller]
fn on_rabbitmq(driver: Driver) {
    let server = RabbitMq::lent_at(&driver.host());
    let scripts = [rabbitmq::scripts(&server.management()), servers::scripts()];
    on(driver, "rabbitmq", &server, scripts.concat());
}

#[test]
fn hostile_processes_do_not_affect_others_on_s3() {
    on_s3(Driver::Process);
}

#[test]
fn hostile_containers_do_not_affect_others_on_s3() {
    on_s3(Driver::Docker);
}

#[test]
fn hostile_sandboxes_do_not_affect_others_on_s3() {
    on_s3(Driver::Sandbox);
}

#[track_caller]
fn on_s3(driver: Driver) {
    let server = S3Process::start_at(&driver.host());
    let own = s3::scripts(server.address(), server.bucket());
    on(driver, "s3", &server, [own, servers::scripts()].concat());
}

#[track_caller]
fn on(driver: Driver, kind: &str, server: &dyn BackendServer, scripts: Vec<Script>) {
    let settings = suite::settings(driver).backend(kind, &server.uri());
    let platform = Platform::start(settings);
    suite::play(driver, &platform, scripts);
    let look = || server.left_behind();
    wait::until_seen("nothing is left", wait::SOON, look, Vec::is_empty);
    drop(platform);
    assert_eq!(look(), Vec::<String>::new());
}

/// The kernel keeps the neighbours that containers look for in one table for all of them.
#[test]
fn an_address_scan_does_not_disturb_neighbour_discovery() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    let tenants = Tenants::two(&platform);
    tenants.first.deploy("hostile", &built::program("hostile"));
    tenants
        .second
        .deploy("collectives", &built::program("collectives"));
    let scan_steps = json!([{"do": "look-for-all", "millis": 800_000}]);
    let scan = json!({"params": [{"steps": begin_and_end(scan_steps)}], "memory": 64,
        "timeout": 850_000});
    let attack = tenants.first.api().flare("hostile", &scan);
    tenants.first.api().in_state(&attack, "running");
    let api = tenants.second.api();
    let request = json!({"size": 6, "params": {}, "granularity": 1, "packing": "homogeneous", "memory": 64,
        "timeout": 240_000});
    let flare = api.flare_to_end("collectives", &request);
    assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    assert_eq!(tenants.first.api().status(&attack).state, "running");
    tenants.first.api().try_cancel(&attack);
}

/// A program can read everything that it is given.
#[test]
fn programs_do_not_get_the_servers_administrator_credentials() {
    let backends = Backend::all("127.0.0.1");
    let platform = Platform::start(backends::offered(&backends, Settings::new(Driver::Process)));
    let tenant = Tenants::two(&platform).first;
    tenant.deploy("hostile", &built::program("hostile"));
    for backend in &backends {
        let Some(secret) = backend.server.as_ref().and_then(|server| server.secret()) else {
            continue;
        };
        let steps = script::begin_and_end(json!([{"do": "backend-address"}]));
        let inputs = vec![json!({"steps": steps}); 2];
        let request = json!({"params": inputs, "granularity": 1, "packing": "homogeneous",
            "backend": backend.kind()});
        let flare = tenant.api().flare_to_end("hostile", &request);
        assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
        for output in tenant.api().result(&flare.flare_id).outputs {
            let output = output
                .read::<Value>()
                .unwrap()
                .unwrap_or_default()
                .to_string();
            assert!(output.contains("backend-address"), "{output}");
            assert!(!output.contains(secret), "{output}");
        }
    }
}

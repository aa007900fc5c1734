//! Every operation of workers, on every backend and driver, by the platform: as a flare's own user on the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burst_tests::S3Process;
use burst_tests::rabbitmq_accounts::names;
use burst_tests::{Driver, Platform, Redis, Settings, built, docker};
use burst_tests::{RabbitMq, rabbitmq};
use serde_json::json;

const NAME: &str = "collectives";
const OPERATIONS: usize = 13;

/// Three packs of two workers: members of a pack, leaders, and others in between.
#[track_caller]
fn all_operations(settings: Settings) {
    let platform = Platform::start(settings);
    let program = built::program(NAME);
    let deploy = ["deploy", NAME, program.to_str().unwrap()];
    platform.cli(&deploy).exits(0);
    let api = platform.api();
    let request = json!({"size": 6, "params": {}, "granularity": 2, "packing": "homogeneous"});
    // The second on the same packs, as another user.
    for start in ["cold", "warm"] {
        let flare = api.ended(&api.flare(NAME, &request));
        assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
        assert_eq!(flare.packs.len(), 3);
        for pack in &flare.packs {
            assert_eq!(pack.start, Some(start.into()));
        }
        for output in api.result(&flare.flare_id).outputs {
            let called: Vec<serde_json::Value> = output.read().unwrap().unwrap();
            assert_eq!(called.len(), OPERATIONS, "{called:?}");
        }
    }
}

#[test]
fn of_processes_among_themselves() {
    all_operations(Settings::new(Driver::Process));
}

#[test]
fn of_containers_among_themselves() {
    all_operations(Settings::new(Driver::Docker));
}

#[test]
fn of_processes_on_redis() {
    for kind in ["redis-list", "redis-stream"] {
        let redis = Redis::start();
        all_operations(Settings::new(Driver::Process).backend(kind, &redis.uri()));
        assert_eq!(redis.keys(), Vec::<String>::new());
    }
}

#[test]
fn of_containers_on_redis() {
    let redis = Redis::start_at(&docker::bridge_gateway());
    all_operations(Settings::new(Driver::Docker).backend("redis-stream", &redis.uri()));
}

#[test]
fn of_processes_on_rabbitmq() {
    on_rabbitmq(Driver::Process, "127.0.0.1");
}

#[test]
fn of_containers_on_rabbitmq() {
    on_rabbitmq(Driver::Docker, &docker::bridge_gateway());
}

#[track_caller]
fn on_rabbitmq(driver: Driver, host: &str) {
    let server = RabbitMq::managed_at(host);
    all_operations(Settings::new(driver).backend("rabbitmq", &server.managed_uri()));
    assert_eq!(names(&server, "users"), [rabbitmq::USER]);
    assert_eq!(names(&server, "vhosts"), ["/"]);
}

#[test]
fn of_processes_on_s3() {
    on_s3(Driver::Process, &S3Process::start());
}

#[test]
fn of_containers_on_s3() {
    on_s3(
        Driver::Docker,
        &S3Process::start_at(&docker::bridge_gateway()),
    );
}

#[track_caller]
fn on_s3(driver: Driver, server: &S3Process) {
    all_operations(Settings::new(driver).backend("s3", server.uri()));
    assert_eq!(server.objects(), Vec::<String>::new());
}

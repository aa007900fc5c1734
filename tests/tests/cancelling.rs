//! A flare that would never end is cancelled, and everything it held is freed: slots, processes, containers, keys,
//! users.

use std::time::{Duration, Instant};

use burst_tests::{Driver, Platform, Redis, Settings, failing, wait};
use serde_json::{Value, json};

const SIZE: u32 = 4;
/// It should take less than a second, which the benchmark measures; here it may take as long as a busy machine needs.
const LIMIT: Duration = wait::SOON;

#[test]
fn cancelling_frees_all_resources_of_processes() {
    over_redis(Driver::Process);
}

#[test]
fn cancelling_frees_all_resources_of_containers() {
    over_redis(Driver::Docker);
}

#[test]
fn cancelling_frees_all_resources_of_sandboxes() {
    every_case(&Platform::lent(Settings::new(Driver::Sandbox)), None);
}

#[track_caller]
fn over_redis(driver: Driver) {
    let redis = Redis::start_at(&driver.host());
    let settings = Settings::new(driver).backend("redis-list", &redis.uri());
    every_case(&Platform::start(settings), Some(&redis));
}

#[track_caller]
fn every_case(platform: &Platform, redis: Option<&Redis>) {
    failing::deploy(platform);
    // Worker 3 computes without ever calling the library; the others wait for it in a receive and a barrier.
    cancelled(platform, redis, &failing::input("loop", 3), |worker| {
        if worker == 3 {
            failing::MARK
        } else {
            "waiting"
        }
    });
    // No worker is left that could notice anything.
    cancelled(platform, redis, &json!({"how": "loop"}), |_| failing::MARK);
}

#[track_caller]
fn cancelled(
    platform: &Platform,
    redis: Option<&Redis>,
    input: &Value,
    last: fn(u32) -> &'static str,
) {
    let look = || {
        let (keys, users) = (redis.map(Redis::keys), redis.map(Redis::users));
        (platform.footprint(), keys, users)
    };
    let before = look();
    let options = json!({"size": SIZE, "params": input, "granularity": 2, "packing": "homogeneous",
            "timeout": failing::LONG_TIMEOUT});
    let id = platform.api().flare(failing::NAME, &options);
    (0..SIZE).for_each(|worker| platform.api().wrote(&id, worker, last(worker)));
    let during = look();
    assert!(during.0.free_slots < before.0.free_slots, "it has slots");
    let users = |seen: &Option<Vec<String>>| seen.as_ref().map(Vec::len);
    assert!(
        redis.is_none() || users(&during.2) > users(&before.2),
        "it has a user"
    );

    let asked = Instant::now();
    platform.api().cancel(&id);
    wait::until_seen("all is as before", LIMIT, look, |now| *now == before);
    eprintln!("all was free {:?} after the call", asked.elapsed());
    let flare = platform.api().ended(&id);
    assert_eq!(flare.state, "cancelled");
    for worker in flare.workers {
        assert_eq!(worker.state, "cancelled", "{worker:#?}");
        assert_eq!(worker.error.expect("a reason").kind, "cancelled");
    }
}

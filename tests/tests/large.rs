//! Results and inputs that are together larger than the platform's memory, each within its limit.

use std::thread;

use burst_tests::{Driver, Platform, Settings, built};
use reqwest::Method;
use serde_json::{Value, json};

const HEAP: &str = "export JDK_JAVA_OPTIONS=-Xmx256m";
/// As much as a worker may put out, without the quotes.
const OUTPUT: u64 = (16 << 20) - 2;

fn platform(slots: u32) -> Platform {
    let platform = Platform::start(
        Settings::new(Driver::Process)
            .slots(slots)
            .surroundings(HEAP),
    );
    let code = std::fs::read(built::dist("examples/burden")).unwrap();
    platform.api().deploy("burden", &code);
    platform
}

#[test]
fn results_larger_than_the_heap_are_read_while_other_flares_run() {
    let platform = platform(24);
    let api = platform.api();
    let request =
        json!({"size": 20, "granularity": 5, "params": {"output": OUTPUT}, "timeout": 600_000});
    let id = api.flare("burden", &request);
    let flare = api.ended(&id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let path = format!("flares/{id}/result");
    thread::scope(|scope| {
        let readers: Vec<_> = (0..6).map(|_| scope.spawn(|| api.length(&path))).collect();
        let other = api.run("burden", 2, &json!({}));
        assert_eq!(other.state, "succeeded");
        let lengths: Vec<_> = readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect();
        let least = 20 * (OUTPUT + 2);
        assert!(
            lengths
                .iter()
                .all(|&length| length > least && length < least + 10_000),
            "{lengths:?}"
        );
    });
}

#[test]
fn inputs_larger_than_the_heap_are_refused_or_wait_on_the_disk() {
    let platform = platform(1);
    let api = platform.api();
    let input = "x".repeat((8 << 20) - 1000);
    let body = json!({"size": 1, "params": {"ignored": input}}).to_string();
    let slow = api.flare(
        "burden",
        &json!({"size": 1, "params": {"sleep": 600_000}, "timeout": 600_000}),
    );
    let post = || loop {
        let request = api
            .request(Method::POST, "namespaces/_/bursts/burden")
            .header("Content-Type", "application/json")
            .body(body.clone());
        let answer = api.send(request);
        match answer.status {
            503 => thread::yield_now(),
            _ => {
                return answer.expect::<Value>(202)["flareId"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            }
        }
    };
    // Six at a time, until 320 MB of them are waiting.
    let ids: Vec<String> = thread::scope(|scope| {
        let posters: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| (0..7).map(|_| post()).collect::<Vec<_>>()))
            .collect();
        posters
            .into_iter()
            .flat_map(|poster| poster.join().unwrap())
            .collect()
    });
    api.cancel(&slow);
    for id in ids {
        assert_eq!(api.ended(&id).state, "succeeded");
    }
}

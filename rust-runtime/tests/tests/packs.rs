//! Flares of several packs, each in its own runtime, as the platform runs them.

use std::time::Instant;

use crate::support::{Events, Run, Runtime, act, assert_at_once, end, failure, named};
use serde_json::{Value, json};

/// A flare of two packs of two workers, ready but not started.
struct Flare {
    runtimes: [Runtime; 2],
    events: Vec<Events>,
    flare_id: String,
}

impl Flare {
    fn ready(acts: [[Value; 2]; 2]) -> Self {
        let runtimes = [Runtime::with_acts(), Runtime::with_acts()];
        let mut run = Run::new(&[]);
        run.pack_sizes = vec![2, 2];
        run.autostart = false;
        let mut events = Vec::new();
        for (pack, (runtime, acts)) in runtimes.iter().zip(acts).enumerate() {
            run.pack = pack;
            run.inputs = json!({ "each": acts });
            events.push(runtime.flare(&run));
        }
        Self {
            runtimes,
            events,
            flare_id: run.flare_id,
        }
    }

    fn start(&mut self) {
        let endpoints: Vec<Value> = self
            .events
            .iter_mut()
            .map(|events| events.until("ready")["endpoint"].clone())
            .collect();
        assert!(endpoints.iter().all(Value::is_string), "{endpoints:?}");
        for runtime in &self.runtimes {
            let path = format!("/packs/{}/start", self.flare_id);
            assert_eq!(
                runtime.post(&path, &json!({ "endpoints": endpoints })).0,
                204
            );
        }
    }

    fn end(&mut self, pack: usize) -> Vec<Value> {
        self.events[pack].by_ref().collect()
    }
}

/// Whether a failure in pack 1 names the cause: worker 1, which ended pack 0, or at least pack 0, whose process may be
/// killed before it can report more. (On the platform the controller reports it.)
fn names_the_cause(peer: &Value) -> bool {
    let message = peer["message"].as_str().unwrap();
    message.contains("worker 1") || message.contains("pack 0")
}

#[test]
fn packs_talk_to_each_other_and_stay_warm() {
    let mut flare = Flare::ready([[act("sum"), act("sum")], [act("sum"), act("sum")]]);
    flare.start();
    for pack in 0..2 {
        let events = flare.end(pack);
        let succeeded = named(&events, "worker-succeeded");
        assert_eq!(succeeded.len(), 2, "{events:?}");
        for event in succeeded {
            assert_eq!(event["output"], 6);
            assert_eq!(event["worker"].as_u64().unwrap() / 2, pack as u64);
        }
        assert_eq!(end(&events)["reusable"], true);
    }
}

#[test]
fn a_failure_in_one_pack_ends_the_waits_of_the_other() {
    let receive = || json!({"act": "receive", "from": 1});
    let mut flare = Flare::ready([[receive(), act("panic")], [receive(), receive()]]);
    let started = Instant::now();
    flare.start();
    for pack in [0, 1] {
        let events = flare.end(pack);
        assert_at_once(started);
        assert_eq!(end(&events)["reusable"], false);
        let peer = failure(&events, 2 * pack as u64);
        assert_eq!(peer["kind"], "peer-failed");
        let in_its_pack = || peer["message"].as_str().unwrap().contains("worker 1");
        assert!(
            if pack == 0 {
                in_its_pack()
            } else {
                names_the_cause(&peer)
            },
            "{peer}"
        );
    }
}

#[test]
fn a_pack_that_dies_ends_the_waits_of_the_other() {
    let receive = || json!({"act": "receive", "from": 1});
    let mut flare = Flare::ready([[receive(), act("segfault")], [receive(), receive()]]);
    let started = Instant::now();
    flare.start();
    let survivors = flare.end(1);
    assert_at_once(started);
    for worker in [2, 3] {
        let peer = failure(&survivors, worker);
        assert!(names_the_cause(&peer), "{peer}");
    }
    assert_eq!(failure(&flare.end(0), 1)["kind"], "signal");
}

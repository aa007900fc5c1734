//! The state that workers leave for the next flare of their group.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::support::{Run, Runtime, act, end, named};
use serde_json::{Value, json};

/// Runs a flare and returns its workers' counts.
fn count(runtime: &Runtime, group: Option<&'static str>, workers: usize) -> Vec<Value> {
    let mut run = Run::new(&vec![act("count"); workers]);
    run.group = group;
    let events = runtime.events(&run);
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
    let mut counts: Vec<_> = named(&events, "worker-succeeded")
        .into_iter()
        .map(|event| (event["worker"].as_u64(), event["output"].clone()))
        .collect();
    counts.sort_by_key(|(worker, _)| *worker);
    counts.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn state_is_found_only_in_flares_of_the_same_group() {
    let runtime = Runtime::with_acts();
    let both = |count: u32| vec![json!(count), json!(count)];
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
    assert_eq!(count(&runtime, Some("one"), 2), both(2));
    assert_eq!(count(&runtime, Some("two"), 2), both(1));
    // The state of `one` is gone: only the current group's state is kept.
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
    assert_eq!(count(&runtime, None, 2), both(1));
    assert_eq!(count(&runtime, None, 2), both(1));
    assert_eq!(count(&runtime, Some("one"), 2), both(1));
}

#[test]
fn a_pack_of_another_size_begins_without_state() {
    let runtime = Runtime::with_acts();
    assert_eq!(count(&runtime, Some("one"), 1), [json!(1)]);
    assert_eq!(count(&runtime, Some("one"), 2), [json!(1), json!(1)]);
}

/// Returns the Unix sockets of a process by their inodes: packs of one machine connect over them. TCP sockets are
/// ignored: they are used to look for a pack that is slow to dial the middle, and can close at any time.
fn sockets(process: u64) -> BTreeSet<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let targets = descriptors.filter_map(|it| fs::read_link(it.unwrap().path()).ok());
    let unix = fs::read_to_string(format!("/proc/{process}/net/unix")).unwrap();
    let numbers = unix
        .lines()
        .filter_map(|line| line.split_whitespace().nth(6));
    let sockets: BTreeSet<_> = numbers
        .map(|number| PathBuf::from(format!("socket:[{number}]")))
        .collect();
    targets.filter(|target| sockets.contains(target)).collect()
}

#[test]
fn the_second_flare_finds_its_packs_connected() {
    let runtimes = [Runtime::with_acts(), Runtime::with_acts()];
    let flare = |number: u32| -> Vec<BTreeSet<PathBuf>> {
        let mut run = Run::new(&[]);
        run.group = Some("one");
        run.secret = format!("the secret of flare {number}");
        run.pack_sizes = vec![1, 1];
        run.autostart = false;
        run.inputs = json!({ "each": [act("sum-and-process")] });
        let mut packs: Vec<_> = (0..)
            .zip(&runtimes)
            .map(|(pack, runtime)| {
                run.pack = pack;
                runtime.flare(&run)
            })
            .collect();
        let ready = packs.iter_mut().map(|events| events.until("ready"));
        let endpoints: Vec<_> = ready.map(|ready| ready["endpoint"].clone()).collect();
        for runtime in &runtimes {
            let path = format!("/packs/{}/start", run.flare_id);
            let started = runtime.post(&path, &json!({ "endpoints": endpoints }));
            assert_eq!(started.0, 204);
        }
        let ends = packs.into_iter().map(|events| {
            let events: Vec<_> = events.collect();
            assert_eq!(end(&events)["reusable"], true, "{events:?}");
            let output = &named(&events, "worker-succeeded")[0]["output"];
            assert_eq!(output["sum"], 1);
            output["process"].as_u64().unwrap()
        });
        let processes: Vec<_> = ends.collect();
        processes.into_iter().map(sockets).collect()
    };
    let first = flare(1);
    // One to the runtime, one to watch the other pack, those to send and receive on, and one that listens.
    assert!(first.iter().all(|sockets| sockets.len() >= 4), "{first:?}");
    assert_eq!(flare(2), first);
    assert_eq!(flare(3), first);
}

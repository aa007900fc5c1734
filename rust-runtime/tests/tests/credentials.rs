//! Programs work on a backend without the platform's credentials for it.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use crate::support::{Run, Runtime, act, end, named};
use burst_test_servers::S3Process;
use serde_json::{Value, json};

/// Returns the child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let lists = tasks.flatten().map(|task| task.path().join("children"));
    let lists = lists.filter_map(|list| std::fs::read_to_string(list).ok());
    lists
        .flat_map(|list| {
            let numbers = list
                .split_whitespace()
                .map(|number| number.parse().unwrap());
            numbers.collect::<Vec<u32>>()
        })
        .collect()
}

/// Whether a process's writable memory contains this text.
fn holds(process: u32, text: &str) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    maps.lines()
        .filter(|line| line.contains(" rw"))
        .any(|line| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let address = |hex| u64::from_str_radix(hex, 16).unwrap();
            let mut bytes = vec![0; (address(to) - address(from)).min(64 << 20) as usize];
            let read = memory.read_at(&mut bytes, address(from)).unwrap_or(0);
            bytes[..read]
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        })
}

fn clean(flare_id: &str, backend: &Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"))
        .arg("cleanup")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let request = json!({"flareId": flare_id, "backend": backend}).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(request.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn packs_talk_through_s3_without_its_credentials() {
    let s3 = S3Process::start();
    let runtimes = [Runtime::with_acts(), Runtime::with_acts()];
    // The second flare is admitted over the first one's connections.
    for _ in 0..2 {
        let mut run = Run::new(&[]);
        run.backend = json!({"kind": "s3", "uri": s3.uri(), "chunkSize": null});
        run.pack_sizes = vec![1, 1];
        run.autostart = false;
        run.inputs = json!({ "each": [act("sum")] });
        let mut events = Vec::new();
        for (pack, runtime) in runtimes.iter().enumerate() {
            run.pack = pack;
            events.push(runtime.flare(&run));
        }
        for events in &mut events {
            assert_eq!(events.until("ready")["endpoint"], Value::Null);
        }
        for runtime in &runtimes {
            let programs = children(runtime.id());
            assert_eq!(programs.len(), 1, "{programs:?}");
            assert!(holds(programs[0], &run.flare_id));
            assert!(
                !holds(programs[0], s3.secret()),
                "it has the platform's secret"
            );
        }
        for runtime in &runtimes {
            let path = format!("/packs/{}/start", run.flare_id);
            assert_eq!(
                runtime.post(&path, &json!({"endpoints": [null, null]})).0,
                204
            );
        }
        for events in events {
            let events: Vec<Value> = events.collect();
            let succeeded = named(&events, "worker-succeeded");
            assert_eq!(succeeded.len(), 1, "{events:?}");
            assert_eq!(succeeded[0]["output"], 1);
            assert_eq!(end(&events)["reusable"], true);
        }
        clean(&run.flare_id, &run.backend);
    }
}

#[test]
fn a_single_pack_does_not_get_the_servers_address() {
    let runtime = Runtime::with_acts();
    let secret = "the-platforms-own-password";
    let mut run = Run::new(&[act("forever")]);
    run.backend = json!({"kind": "redis-list", "uri": format!("redis://:{secret}@127.0.0.1:1")});
    let mut events = runtime.flare(&run);
    events.until("worker-started");
    let programs = children(runtime.id());
    assert!(holds(programs[0], &run.flare_id));
    assert!(
        !holds(programs[0], secret),
        "it has the platform's password"
    );
}

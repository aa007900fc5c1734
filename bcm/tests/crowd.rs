//! A flare of many packs on one machine, each in a process of its own: what a pack uses does not
//! depend on the number of other packs, except for a little memory and a few descriptors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::time::Duration;

use burst_bcm::{Pack, PackConfig, PackId, Topology};
use burst_test_processes::{TestProcess, told};

const PACKS: u32 = 256;
/// The threads of a pack besides its workers, however many peers it has.
const THREADS: usize = 8;
/// The memory for a silent peer.
const KIB_PER_PEER: usize = 64;
/// The descriptors for a peer, with messages and control frames in both directions.
const DESCRIPTORS_PER_PEER: usize = 4;

/// Not a test: one of the packs, with one worker.
#[test]
#[ignore = "started by the other test"]
fn pack_in_a_process() {
    let pack = PackId(told().parse().unwrap());
    let mut config = PackConfig::new("crowd", pack, Topology::new(&[1; PACKS as usize]).unwrap());
    config.secret = "crowd".into();
    config.operation_timeout = Duration::from_secs(300);
    let before = (count("task"), count("fd"), memory());
    let pack = Pack::join(config).unwrap();
    println!("endpoint {}", pack.endpoint().unwrap());
    let mut endpoints = String::new();
    std::io::stdin().read_line(&mut endpoints).unwrap();
    let endpoints = endpoints.split_whitespace().map(str::to_owned).collect();
    pack.start(endpoints).unwrap();
    let worker = pack.communicators().remove(0);
    for round in 0..3u8 {
        let me = worker.worker_id();
        let sent = (0..PACKS).map(|to| [round, me as u8, to as u8].repeat(1000));
        let got = worker.all_to_all(sent.collect()).unwrap();
        for (from, value) in (0..PACKS).zip(got) {
            assert_eq!(value, [round, from as u8, me as u8].repeat(1000));
        }
    }
    worker.barrier().unwrap();
    let peers = PACKS as usize - 1;
    println!(
        "found {} {} {}",
        count("task") - before.0,
        (count("fd") - before.1) / peers,
        (memory() - before.2) / peers,
    );
    worker.barrier().unwrap();
    drop(worker);
    pack.close();
    println!("closed");
}

fn count(what: &str) -> usize {
    fs::read_dir(format!("/proc/self/{what}")).unwrap().count()
}

/// The process's own memory, in KiB.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let own = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    own.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_pack_takes_few_resources_among_many_others() {
    let mut processes: Vec<_> = (0..PACKS)
        .map(|pack| TestProcess::start("pack_in_a_process", pack))
        .collect();
    let endpoints: Vec<_> = (processes.iter_mut())
        .map(|process| process.said("endpoint"))
        .collect();
    let endpoints = endpoints.join(" ");
    for process in &mut processes {
        process.tell(&endpoints);
    }
    for process in &mut processes {
        let found = process.said("found");
        let found: Vec<usize> = found.split(' ').map(|it| it.parse().unwrap()).collect();
        let [threads, descriptors, memory] = found[..] else {
            panic!("{found:?}");
        };
        assert!(threads <= THREADS, "{threads} threads");
        assert!(
            descriptors <= DESCRIPTORS_PER_PEER,
            "{descriptors} descriptors"
        );
        assert!(memory <= KIB_PER_PEER, "{memory} KiB");
    }
    for process in &mut processes {
        process.said("closed");
    }
}

//! One flare in many packs of one machine, each a process: measures what an all-to-all between all
//! of them costs each pack.

use crate::report::Report;
use crate::summary::Summary;
use burst_bcm::{BackendConfig, Pack, PackConfig, PackId, Topology};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument of a process that runs as a pack. Its number and the number of packs follow.
pub const PACK: &str = "crowd-pack";
const PACKS: [u32; 3] = [8, 60, 200];
/// The number of all-to-alls after the first one, in which the packs connect.
const ROUNDS: u32 = 10;
const BYTES: usize = 1024;

/// The measurements of one pack.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Found {
    first_ms: f64,
    next_ms: f64,
    threads: f64,
    descriptors: f64,
    /// Memory per other pack, once all packs are idle again.
    kib_per_peer: f64,
}

/// Measures all-to-alls of flares with these numbers of packs, or with the default ones if `sizes`
/// is empty.
pub fn all_to_all(sizes: &[u32], report: &mut Report) {
    for &packs in if sizes.is_empty() { &PACKS } else { sizes } {
        let found = run(packs);
        let of = |what: fn(&Found) -> f64| Summary::of(found.iter().map(what).collect());
        let name =
            |what| format!("direct, {packs} packs of one machine, all-to-all of {BYTES} B, {what}");
        report.add(name("the first"), "ms", of(|it| it.first_ms), None, "");
        report.add(name("the next"), "ms", of(|it| it.next_ms), None, "");
        report.add(
            name("threads of a pack"),
            "",
            of(|it| it.threads),
            None,
            "<= 9",
        );
        report.add(
            name("descriptors of a pack"),
            "",
            of(|it| it.descriptors),
            None,
            "",
        );
        report.add(
            name("memory for a peer"),
            "KiB",
            of(|it| it.kib_per_peer),
            None,
            "<= 64",
        );
    }
}

struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(pack: u32, packs: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([PACK, &pack.to_string(), &packs.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(packs: u32) -> Vec<Found> {
    let mut processes: Vec<_> = (0..packs).map(|pack| Process::start(pack, packs)).collect();
    let endpoints: Vec<_> = processes.iter_mut().map(Process::line).collect();
    let endpoints = serde_json::to_string(&endpoints).unwrap();
    for process in &mut processes {
        writeln!(process.child.stdin.as_ref().unwrap(), "{endpoints}").unwrap();
    }
    processes
        .iter_mut()
        .map(|process| serde_json::from_str(&process.line()).unwrap())
        .collect()
}

/// Runs as one of `packs` packs, with one worker.
pub fn pack(pack: u32, packs: u32) {
    let topology = Topology::new(&vec![1; packs as usize]).unwrap();
    let mut config = PackConfig::new("crowd", PackId(pack), topology);
    config.backend = BackendConfig::new("direct");
    config.secret = "crowd".into();
    config.operation_timeout = Duration::from_secs(120);
    let pack = Pack::join(config).unwrap();
    let before = memory();
    println!("{}", pack.endpoint().unwrap());
    let mut endpoints = String::new();
    std::io::stdin().read_line(&mut endpoints).unwrap();
    pack.start(serde_json::from_str(&endpoints).unwrap())
        .unwrap();
    let worker = pack.communicators().remove(0);
    let exchange = || {
        let values: Vec<_> = (0..packs).map(|_| vec![1u8; BYTES]).collect();
        worker.all_to_all(values).unwrap();
    };
    worker.barrier().unwrap();
    let begun = Instant::now();
    exchange();
    let first = begun.elapsed();
    worker.barrier().unwrap();
    let begun = Instant::now();
    (0..ROUNDS).for_each(|_| exchange());
    let next = begun.elapsed() / ROUNDS;
    worker.barrier().unwrap();
    let found = Found {
        first_ms: first.as_secs_f64() * 1e3,
        next_ms: next.as_secs_f64() * 1e3,
        threads: status("Threads"),
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count() as f64,
        kib_per_peer: (memory() - before) / f64::from(packs - 1),
    };
    worker.barrier().unwrap();
    println!("{}", serde_json::to_string(&found).unwrap());
    drop(worker);
    pack.close();
}

/// Returns the process's anonymous memory, in KiB.
fn memory() -> f64 {
    status("RssAnon")
}

fn status(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    value
        .trim_matches([':', '\t', ' ', 'k', 'B'])
        .parse()
        .unwrap()
}

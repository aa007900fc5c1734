//! One flare in 48 packs, each a process or a container: measures what an all-to-all between all of them costs each
//! pack. Also the same with fewer and more processes, and a flare in two packs alone.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Settings};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

const PACKS: u32 = 48;
const BYTES: u32 = 1024;
/// Numbers of packs, with which the needs of one pack must not grow.
const PROCESSES: [u32; 3] = [8, 60, 200];

/// The measurements of one pack.
#[derive(Deserialize)]
struct Found {
    first_ms: f64,
    next_ms: f64,
    threads: f64,
    kib_per_peer: f64,
}

/// The messages that all packs send each other, and how often.
#[derive(Clone, Copy)]
struct Exchange {
    packs: u32,
    /// The size of a message.
    bytes: u32,
    rounds: u32,
}

/// Exchanges between two packs alone: one for the time per message, one for the time per byte.
const PAIRS: [(&str, Exchange); 2] = [
    (
        "8 B",
        Exchange {
            packs: 2,
            bytes: 8,
            rounds: 20_000,
        },
    ),
    (
        "1 MiB",
        Exchange {
            packs: 2,
            bytes: 1 << 20,
            rounds: 500,
        },
    ),
];

pub fn measure(report: &mut Report) {
    let mut process: [Option<Summary>; PAIRS.len()] = [None; PAIRS.len()];
    for driver in Driver::ALL {
        let settings = Settings::new(driver)
            .slots(PACKS)
            .limit(Duration::from_secs(600));
        let platform = Platform::start(settings);
        crate::deploy(&platform, "crowd");
        let name = driver.name();
        crowd(&platform, PACKS, name, report);
        for ((size, pair), reference) in PAIRS.into_iter().zip(&mut process) {
            let took = (0..5).map(|_| pair.run(&platform)[0].next_ms * 1e3);
            let took = Summary::of(took.collect());
            report.add(
                format!("2 packs, {name}, exchange of {size}"),
                "us",
                took,
                reference.map(|it| ("process", it)),
                "",
            );
            reference.get_or_insert(took);
        }
    }
    let most = PROCESSES[PROCESSES.len() - 1];
    let settings = Settings::new(Driver::Process).slots(most);
    let platform = Platform::start(settings.limit(Duration::from_secs(600)));
    crate::deploy(&platform, "crowd");
    for packs in PROCESSES {
        crowd(&platform, packs, Driver::Process.name(), report);
    }
}

fn crowd(platform: &Platform, packs: u32, name: &str, report: &mut Report) {
    type Figure = fn(&Found) -> f64;
    let figures: [(&str, &'static str, Figure, &str); 4] = [
        ("the first", "ms", |it| it.first_ms, ""),
        ("the next", "ms", |it| it.next_ms, ""),
        ("threads of a pack", "", |it| it.threads, "<= 9"),
        ("memory for a peer", "KiB", |it| it.kib_per_peer, "<= 64"),
    ];
    let exchange = Exchange {
        packs,
        bytes: BYTES,
        rounds: 10,
    };
    let found = exchange.run(platform);
    for (what, unit, figure, goal) in figures {
        report.add(
            format!("{packs} packs, {name}, all-to-all of {BYTES} B, {what}"),
            unit,
            Summary::of(found.iter().map(figure).collect()),
            None,
            goal,
        );
    }
}

impl Exchange {
    fn run(self, platform: &Platform) -> Vec<Found> {
        let params = json!({"bytes": self.bytes, "rounds": self.rounds});
        let request = json!({"size": self.packs, "params": params, "granularity": 1, "packing": "homogeneous",
                             "memory": 64, "timeout": 120_000});
        let flare = crate::run(platform, "crowd", request);
        assert_eq!(flare.packs.len() as u32, self.packs);
        let result = platform.api().result(&flare.flare_id);
        let outputs = result.outputs.iter();
        outputs
            .map(|output| output.read().unwrap().unwrap())
            .collect()
    }
}

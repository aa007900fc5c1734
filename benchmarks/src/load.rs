//! `make load`: many clients with many small flares on a cluster of processes. Checks each response, and measures
//! latency, throughput, and the nodes' memory at the start, in the middle and at the end. `make load REFERENCE=DIST`
//! compares with another release.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod beside;

use benchmark_report::results;
use burst_tests::cluster::Setup;
use burst_tests::load::{self, Served};
use burst_tests::{Api, Cluster, Driver, command, processes};
use clap::Parser;
use comfy_table::{Table, presets};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Runs a load of many small flares.
#[derive(Parser)]
struct Options {
    /// Number of clients, each with one flare at a time.
    #[arg(long, default_value_t = 200)]
    clients: usize,
    /// Number of flares, of one to four workers that only greet.
    #[arg(long, default_value_t = 10_000)]
    flares: usize,
    /// Number of flares to run before the counted ones.
    #[arg(long, default_value_t = 30_000)]
    warm_up: usize,
    /// The distribution of another release to compare with, in turns; writes `load-beside.csv` instead of
    /// `load.csv`.
    #[arg(long, value_name = "DIST")]
    reference: Option<PathBuf>,
    /// The directory for `load.csv`.
    #[arg(long, default_value = "benchmarks/results")]
    results: PathBuf,
}

/// A figure at the start, in or after the first half of the load, and in or after the second half.
#[derive(Debug, serde::Serialize)]
struct Row {
    figure: String,
    unit: &'static str,
    start: Option<f64>,
    middle: f64,
    end: f64,
}

/// The memory of a node, in MiB.
struct Memory {
    node: String,
    resident: f64,
    heap: f64,
}

/// A part of the load.
struct Part {
    served: Vec<Served>,
    took: Duration,
    /// The processor time used in this part by the whole machine and by each node.
    processors: Vec<(String, Duration)>,
}

impl Part {
    fn count(&self) -> f64 {
        self.served.len() as f64
    }

    /// Flares per second.
    fn pace(&self) -> f64 {
        self.count() / self.took.as_secs_f64()
    }

    /// The processor time per flare of the entry at `place`, in milliseconds.
    fn processor_time(&self, place: usize) -> f64 {
        self.processors[place].1.as_secs_f64() * 1e3 / self.count()
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let written = match &options.reference {
        Some(reference) => {
            let rows = beside::measure(&options, reference);
            println!("{}", beside::table(&rows));
            results::write(&options.results.join("load-beside.csv"), &rows)
        }
        None => {
            let rows = alone(&options);
            println!("{}", table(&rows));
            results::write(&options.results.join("load.csv"), &rows)
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(distribution: Option<PathBuf>) -> Cluster {
    let setup = Setup::as_it_comes(Driver::Process)
        .distribution(distribution)
        .controllers(2)
        .invokers(4)
        .set("burst.limits.flares-per-minute", "1000000")
        // The benchmark checks all flares at the end, so none may be deleted.
        .set("burst.store.retention.flares", "1000000")
        .limit(Duration::from_secs(3600));
    let cluster = Cluster::start(setup);
    cluster.deploy(load::PROGRAM);
    cluster
}

/// Runs the flares with these numbers.
fn part(cluster: &Cluster, apis: &[Api], clients: usize, numbers: Range<usize>) -> Part {
    let (began, before) = (Instant::now(), processors(cluster));
    let served = load::run(apis, clients, numbers);
    let took = began.elapsed();
    let used = before.into_iter().zip(processors(cluster));
    Part {
        served,
        took,
        processors: used
            .map(|((who, before), (_, after))| (who, after - before))
            .collect(),
    }
}

fn alone(options: &Options) -> Vec<Row> {
    let cluster = start(None);
    let apis = cluster.apis();
    let half = |numbers| part(&cluster, &apis, options.clients, numbers);
    let (first, second) = (options.warm_up, options.warm_up + options.flares / 2);
    half(0..first);
    let start = memory(&cluster);
    let one = half(first..second);
    let middle = memory(&cluster);
    let two = half(second..options.warm_up + options.flares);
    let end = memory(&cluster);
    let served = [one.served.as_slice(), two.served.as_slice()].concat();
    assert_eq!(served.len(), options.flares, "flares were lost");
    load::ran_once(&apis, options.clients, &served);
    load::assert_all_slots_are_free(&cluster);

    let mut rows = pace(&one, &two);
    for ((start, middle), end) in start.into_iter().zip(middle).zip(end) {
        let mut row = |what, figure: fn(&Memory) -> f64| {
            rows.push(Row {
                figure: format!("{}, {what}", start.node),
                unit: "MiB",
                start: Some(figure(&start)),
                middle: figure(&middle),
                end: figure(&end),
            });
        };
        row("heap after a collection", |memory| memory.heap);
        row("resident", |memory| memory.resident);
    }
    rows
}

fn pace(one: &Part, two: &Part) -> Vec<Row> {
    let row = |figure: String, unit, of: &dyn Fn(&Part) -> f64| Row {
        figure,
        unit,
        start: None,
        middle: of(one),
        end: of(two),
    };
    let mut rows = vec![
        row(
            "flares answered as they should be".into(),
            "flares",
            &Part::count,
        ),
        row("throughput".into(), "flares/s", &Part::pace),
        row("latency, median".into(), "ms", &|half| latency(half, 0.5)),
        row("latency, 99 %".into(), "ms", &|half| latency(half, 0.99)),
        row("latency, longest".into(), "ms", &|half| latency(half, 1.0)),
    ];
    for (place, (who, _)) in one.processors.iter().enumerate() {
        let used = |half: &Part| half.processor_time(place);
        rows.push(row(
            format!("{who}, processor time of a flare"),
            "ms",
            &used,
        ));
    }
    rows
}

fn latency(half: &Part, share: f64) -> f64 {
    let mut times: Vec<Duration> = half.served.iter().map(|flare| flare.took).collect();
    times.sort_unstable();
    let place = (times.len() as f64 * share).ceil() as usize;
    times[place.max(1) - 1].as_secs_f64() * 1e3
}

fn processors(cluster: &Cluster) -> Vec<(String, Duration)> {
    let machine = ("machine".to_owned(), processes::busy_time());
    let nodes = cluster.pids().into_iter();
    let nodes = nodes.map(|(node, pid)| (node, processes::processor_time(pid)));
    std::iter::once(machine).chain(nodes).collect()
}

fn memory(cluster: &Cluster) -> Vec<Memory> {
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    (cluster.pids().into_iter())
        .map(|(node, pid)| Memory {
            node,
            // This forces a collection, so that the resident memory is no more than what is needed.
            heap: mebibytes(live_heap(pid)),
            resident: mebibytes(processes::resident_bytes(pid)),
        })
        .collect()
}

/// Returns the bytes of all objects that are live after a collection.
fn live_heap(pid: u32) -> u64 {
    let pid = pid.to_string();
    let mut jcmd = Command::new("jcmd");
    let finished = command::run(
        jcmd.args([&pid, "GC.class_histogram"]),
        Duration::from_secs(30),
    );
    let total = finished
        .stdout
        .lines()
        .rfind(|line| line.starts_with("Total"));
    let total =
        total.unwrap_or_else(|| panic!("jcmd (of a JDK) does not tell of the heap: {finished:#?}"));
    total.split_whitespace().nth(2).unwrap().parse().unwrap()
}

fn table(rows: &[Row]) -> Table {
    let number = |value: f64| format!("{value:.1}");
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["figure", "unit", "start", "first half", "second half"]);
    for row in rows {
        table.add_row([
            row.figure.clone(),
            row.unit.to_owned(),
            row.start.map_or_else(String::new, number),
            number(row.middle),
            number(row.end),
        ]);
    }
    table
}

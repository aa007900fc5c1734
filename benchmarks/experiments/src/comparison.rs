//! Comparison with alternative systems, on the same input and the same two processors. All results are
//! checked.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::peers::{Answer, Peers};
use crate::size::Size;
use burst_client::Flare;
use burst_tests::{Driver, account};
use pagerank::generate::PowerLaw;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use terasort::{generate::Records, record::RECORD, validate};

/// One worker per processor.
const WORKERS: u32 = 2;

/// Iterations of PageRank.
const ITERATIONS: u32 = 10;

pub fn measure(size: &Size, peers: &Peers, findings: &mut Findings) {
    findings.about(
        "Against what one would use instead",
        "Two workers in one pack, against the same on Spark in local mode with two threads, Dask with two processes, and \
         Polars, which is one process with two threads. Platform: from starting ours until it serves requests; \
         start-up: of its packs, cold; of a peer, from starting Python until its engine can be used. First: the first run after it, from input files to output; best: of a \
         peer, the best of three more runs in the same engine; of ours, the median of flares on warm packs, from the \
         request to the end. Joining, grouping and \
         sorting start from tables in memory for everybody, so there *first* and *best* are without reading; *whole* has \
         it, and for ours the request too. Start-up included is platform, start-up and first together for ours, although \
         the platform of others than this experiment runs already, and start-up and first for the peers; start-up \
         excluded is best.",
    );
    let scratch = account::directory("burst-experiment-");
    let ground = Ground {
        size,
        peers,
        scratch: scratch.path(),
    };
    ground.tables(findings);
    ground.pagerank(findings);
    ground.terasort(findings);
    ground.wordcount(findings);
}

/// The common inputs of all comparisons.
struct Ground<'a> {
    size: &'a Size,
    peers: &'a Peers,
    scratch: &'a Path,
}

impl Ground<'_> {
    fn tables(&self, findings: &mut Findings) {
        let [left, right] = [("left", 1), ("right", 2)].map(|(name, seed)| {
            let path = self.scratch.join(format!("{name}.arrow"));
            tables::generate::write(&path, self.size.rows, seed).unwrap();
            path
        });
        // Spark and Dask cannot read Arrow files.
        self.peers.make("to_parquet.py", &[&left, &right]);
        for operation in ["join", "group-by", "sort"] {
            let params = match operation {
                "join" => json!({"operation": operation, "left": left, "right": right}),
                _ => json!({"operation": operation, "table": left}),
            };
            let bed = platform(findings, "tables", operation);
            let flare = |params| run(&bed, "tables", params);
            for number in 0..=self.size.runs {
                let flare = flare(params.clone());
                let timeline = bed.timeline(&flare);
                let took = bed::extent(&timeline, operation);
                if number == 0 {
                    let start = bed::entered(&timeline, "read");
                    findings.add("burst", operation, "start-up", "s", start);
                    findings.add("burst", operation, "first", "s", took);
                } else {
                    findings.add("burst", operation, "best", "s", took);
                    findings.add("burst", operation, "whole", "s", bed::duration(&flare));
                }
            }
            let parts = account::directory_in(self.scratch);
            let mut params = params.clone();
            params["output"] = json!(parts.path());
            flare(params);
            let expected = self
                .peers
                .run("run_polars.py", &[&operation, &left, &right, &parts.path()]);
            assert_eq!(expected.result["same"], true, "{operation}: {expected:?}");
            keep(findings, "Polars", operation, &expected);
            for (system, script) in [("Dask", "run_dask.py"), ("Spark", "run_spark.py")] {
                let answer = self.peers.run(script, &[&operation, &left, &right]);
                assert_eq!(
                    answer.result["check"], expected.result["check"],
                    "{system}: {answer:?}"
                );
                keep(findings, system, operation, &answer);
            }
            let ours = findings.median("burst", operation, "best");
            let polars = findings.median("Polars", operation, "best");
            let what = format!("{operation}: time in terms of Polars'");
            findings.at_most(&what, ours / polars, "not measured", 1.5);
            for system in ["Dask", "Spark"] {
                ahead(findings, operation, system);
            }
        }
    }

    fn pagerank(&self, findings: &mut Findings) {
        let graph = self.scratch.join("graph.txt");
        let file = BufWriter::new(File::create(&graph).unwrap());
        PowerLaw {
            scale: self.size.graph,
            edges: 16,
            seed: 1,
        }
        .write(file)
        .unwrap();
        let params = json!({"graph": graph, "iterations": ITERATIONS, "tolerance": 0.0, "top": 10});
        let outputs = self.ours(findings, "pagerank", "load", |_| params.clone());
        let answer = self.peers.run(
            "run_spark.py",
            &[&"pagerank", &graph, &ITERATIONS.to_string()],
        );
        let (ours, theirs) = (&outputs[0]["top"], &answer.result);
        for (ours, theirs) in ours
            .as_array()
            .unwrap()
            .iter()
            .zip(theirs.as_array().unwrap())
        {
            assert_eq!(ours["node"], theirs["node"]);
            let ranks = [&ours["rank"], &theirs["rank"]].map(|rank| rank.as_f64().unwrap());
            assert!((ranks[0] - ranks[1]).abs() < 1e-9, "{ours} and {theirs}");
        }
        keep(findings, "Spark", "pagerank", &answer);
        ahead(findings, "pagerank", "Spark");
    }

    fn terasort(&self, findings: &mut Findings) {
        let input = self.scratch.join("records");
        Records {
            count: self.size.sorted / RECORD as u64,
            seed: 1,
        }
        .write(&input, 2)
        .unwrap();
        let expected = validate::summarise(&input).unwrap();
        let output = |run: &str| {
            let path = self.scratch.join(format!("sorted-{run}"));
            std::fs::create_dir(&path).unwrap();
            path
        };
        let sorted = |run: &str| {
            let path = self.scratch.join(format!("sorted-{run}"));
            assert_eq!(validate::check_sorted(&path).unwrap(), expected);
            std::fs::remove_dir_all(path).unwrap();
        };
        self.ours(
            findings,
            "terasort",
            "read",
            |run| json!({"input": input, "output": output(&run.to_string())}),
        );
        (0..=self.size.runs).for_each(|run| sorted(&run.to_string()));
        let path = output("spark");
        let answer = self
            .peers
            .run("run_spark.py", &[&"terasort", &input, &path]);
        sorted("spark");
        keep(findings, "Spark", "terasort", &answer);
        ahead(findings, "terasort", "Spark");
    }

    fn wordcount(&self, findings: &mut Findings) {
        let path = self.scratch.join("text");
        let mut text = String::new();
        for package in &debian::read().unwrap().list {
            writeln!(text, "{}: {}", package.name, package.description).unwrap();
        }
        let text = text.repeat(self.size.text.div_ceil(text.len()));
        std::fs::write(&path, text).unwrap();
        let outputs = self.ours(
            findings,
            "wordcount",
            "read",
            |_| json!({"path": path, "top": 10}),
        );
        let answer = self.peers.run("run_spark.py", &[&"wordcount", &path]);
        assert_eq!(outputs[0]["top"], answer.result, "{answer:?}");
        keep(findings, "Spark", "wordcount", &answer);
        ahead(findings, "wordcount", "Spark");
    }

    /// Runs one of our examples, first cold and then warm, and returns the output of the last run.
    fn ours(
        &self,
        findings: &mut Findings,
        name: &str,
        first_phase: &str,
        params: impl Fn(usize) -> Value,
    ) -> Vec<Value> {
        let bed = platform(findings, name, name);
        let mut outputs = Vec::new();
        for number in 0..=self.size.runs {
            let flare = run(&bed, name, params(number));
            let whole = bed::duration(&flare);
            if number == 0 {
                let start = bed::entered(&bed.timeline(&flare), first_phase);
                findings.add("burst", name, "start-up", "s", start);
                findings.add("burst", name, "first", "s", whole - start);
            } else {
                findings.add("burst", name, "best", "s", whole);
                findings.add("burst", name, "whole", "s", whole);
            }
            outputs = bed.outputs(&flare);
        }
        outputs
    }
}

/// Starts a platform that has not run anything yet.
fn platform(findings: &mut Findings, name: &str, setting: &str) -> Bed {
    let bed = Bed::start(Driver::Process, WORKERS);
    findings.add("burst", setting, "platform", "s", bed.start);
    bed.deploy(name);
    bed
}

fn run(bed: &Bed, name: &str, params: Value) -> Flare {
    bed.flare(name, WORKERS, WORKERS, params, json!({"memory": 4096}))
}

fn keep(findings: &mut Findings, system: &str, setting: &str, answer: &Answer) {
    findings.add(system, setting, "start-up", "s", answer.ready);
    findings.add(system, setting, "first", "s", answer.runs[0]);
    let best = answer.runs.iter().copied().fold(f64::INFINITY, f64::min);
    findings.add(system, setting, "best", "s", best);
    findings.add(system, setting, "whole", "s", answer.whole);
}

/// Compares our times with a peer's, with and without start-up.
fn ahead(findings: &mut Findings, setting: &str, peer: &str) {
    let figure = |system: &str, name| findings.median(system, setting, name);
    let included = |system: &str| figure(system, "start-up") + figure(system, "first");
    // The platform is normally already running, but users without one have to start it, as with the peers.
    let with = included(peer) / (figure("burst", "platform") + included("burst"));
    let without = figure(peer, "best") / figure("burst", "best");
    let what = format!("{setting}: start-up included, faster than {peer} by");
    findings.at_least(&what, with, "not measured", 1.0);
    let what = format!("{setting}: start-up excluded, faster than {peer} by");
    findings.at_least(&what, without, "not measured", 1.0);
}

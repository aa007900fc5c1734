//! TeraSort in one flare, compared with two rounds of functions with an object store between them.

use crate::bed::{self, Bed};
use crate::findings::Findings;
use crate::size::Size;
use burst_tests::{Driver, S3Server, account};
use serde_json::json;
use std::path::Path;
use std::time::{Instant, SystemTime};
use terasort::record::{KEY, Key, RECORD, key};
use terasort::{generate::Records, validate};

const WORKERS: u32 = 8;

/// Number of keys to sample for the reducers' ranges.
const SAMPLES: usize = 4096;

pub fn measure(size: &Size, findings: &mut Findings) {
    findings.about(
        "TeraSort against serverless MapReduce (Fig. 13)",
        "The paper: 100 GB, 192 workers on two machines, objects on Amazon S3. Here: 8 workers that are processes on one \
         machine with two processors, cold, and an S3 server on the same, which answers at once, from memory or nearly so: \
         much faster than Amazon's for so few workers. Both read and write local files, and \
         share the code that reads, sorts and writes: only how records get from worker to worker differs, and that there \
         are two rounds. MapReduce: g = 1; a driver samples the keys, flares the first round, waits for it, flares the \
         second.",
    );
    let scratch = account::directory("burst-experiment-");
    let input = scratch.path().join("input");
    Records {
        count: size.sorted / RECORD as u64,
        seed: 1,
    }
    .write(&input, 2)
    .unwrap();
    let expected = validate::summarise(&input).unwrap();
    let bed = Bed::start_cold(Driver::Process, WORKERS);
    bed.deploy("terasort");
    bed.deploy("mapreduce");
    let memory = json!({"memory": (size.sorted >> 20) * 6 / u64::from(WORKERS) + 64});
    for number in 0..size.runs {
        for (system, granularity) in [("burst g=8", WORKERS), ("burst g=1", 1)] {
            let output = account::directory_in(scratch.path());
            let params = json!({"input": input, "output": output.path()});
            let flare = bed.flare("terasort", WORKERS, granularity, params, memory.clone());
            assert_eq!(validate::check_sorted(output.path()).unwrap(), expected);
            findings.add(system, "cold", "sorting", "s", bed::duration(&flare));
            if number == 0 && granularity == WORKERS {
                bed::keep_spans(findings, system, &bed.timeline(&flare), flare.created);
            }
        }
        let output = account::directory_in(scratch.path());
        mapreduce(&bed, &input, output.path(), &memory, findings, number == 0);
        assert_eq!(validate::check_sorted(output.path()).unwrap(), expected);
    }
    let ratio = findings.median("mapreduce", "cold", "sorting")
        / findings.median("burst g=8", "cold", "sorting");
    let what = "one flare, g = 8, faster than MapReduce by";
    let why = "Reading, sorting and writing are the same code on the same two processors and take as long in both; only the \
               exchange and the second round can be saved, and an object store on the same machine keeps its share small.";
    findings.at_least(what, ratio, "1.91 ×", 2.0).if_missed(why);
}

fn mapreduce(
    bed: &Bed,
    input: &Path,
    output: &Path,
    memory: &serde_json::Value,
    findings: &mut Findings,
    keep: bool,
) {
    let store = S3Server::fast("127.0.0.1");
    let asked = Instant::now();
    let from = SystemTime::now();
    let params = json!({
        "round": "map", "input": input, "store": store.url("shuffle"), "splitters": splitters(input),
    });
    let map = bed.flare("mapreduce", WORKERS, 1, params, memory.clone());
    let params = json!({
        "round": "reduce", "store": store.url("shuffle"), "mappers": WORKERS, "output": output,
    });
    let reduce = bed.flare("mapreduce", WORKERS, 1, params, memory.clone());
    // The time does not include the delay until this process notices the end.
    let took = bed::seconds(from, reduce.ended.unwrap());
    assert!(took <= asked.elapsed().as_secs_f64());
    findings.add("mapreduce", "cold", "sorting", "s", took);
    if keep {
        bed::keep_spans(findings, "mapreduce", &bed.timeline(&map), from);
        bed::keep_spans(findings, "mapreduce", &bed.timeline(&reduce), from);
    }
}

/// Returns the keys that divide a sample into one equal range per reducer.
fn splitters(input: &Path) -> Vec<Key> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(input).unwrap();
    let records = file.metadata().unwrap().len() / RECORD as u64;
    let step = (records / SAMPLES as u64).max(1);
    let sampled = (0..records).step_by(step as usize).map(|record| {
        let mut bytes = [0; KEY];
        file.read_exact_at(&mut bytes, record * RECORD as u64)
            .unwrap();
        key(&bytes)
    });
    let mut keys: Vec<Key> = sampled.collect();
    keys.sort_unstable();
    let cuts = 1..WORKERS as usize;
    cuts.map(|cut| keys[keys.len() * cut / WORKERS as usize])
        .collect()
}

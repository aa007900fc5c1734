//! TeraSort by serverless MapReduce, for comparison with the example `terasort`. It uses the same code to read,
//! partition, sort and write; only the way records get from one worker to another differs.
//!
//! In the first round each worker reads its slice of the input and puts one object for each worker of the second
//! round into an object store. In the second round each worker gets its objects, sorts their records, and writes
//! them.

use burst::{BurstContext, data};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::PathBuf;
use terasort::record::{Key, RECORD};
use terasort::sort;

#[derive(Deserialize)]
#[serde(tag = "round", rename_all = "lowercase")]
enum Input {
    Map {
        input: PathBuf,
        /// The prefix of the objects' names, such as `http://host:port/bucket/run`.
        store: String,
        /// The keys that divide the reducers' ranges.
        splitters: Vec<Key>,
    },
    Reduce {
        store: String,
        /// The number of workers in the first round.
        mappers: u32,
        output: PathBuf,
    },
}

#[derive(Serialize)]
struct Done {
    records: usize,
}

fn work(input: Input, burst: &BurstContext) -> Result<Done, burst::Error> {
    let me = burst.worker_id();
    match input {
        Input::Map {
            input,
            store,
            splitters,
        } => {
            burst.phase("read");
            let records = sort::read_share(&input, burst.part())?;
            burst.phase("shuffle");
            let parts = sort::partition(&records, &splitters, splitters.len() + 1);
            for (reducer, part) in parts.iter().enumerate() {
                let answer = ureq::put(name(&store, me, reducer as u32)).send(&part[..])?;
                // The connection can only be reused if the response is read to its end.
                answer.into_body().read_to_vec()?;
            }
            Ok(Done {
                records: records.len() / RECORD,
            })
        }
        Input::Reduce {
            store,
            mappers,
            output,
        } => {
            burst.phase("shuffle");
            let objects = (0..mappers).map(|mapper| name(&store, mapper, me));
            let parts = objects.map(|object| data::read(&object, 0..data::size(&object)?));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            burst.phase("sort");
            let order = sort::sorted_order(&parts);
            burst.phase("write");
            let path = output.join(format!("part-{me:05}"));
            sort::write_in_order(File::create(path)?, &parts, &order)?;
            Ok(Done {
                records: order.len(),
            })
        }
    }
}

fn name(store: &str, mapper: u32, reducer: u32) -> String {
    format!("{store}/{mapper}-{reducer}")
}

burst::main!(work);

//! TeraSort by serverless MapReduce: what the example `terasort` is compared with. It uses the same code to read, to
//! part, to sort and to write; only how records get from one worker to the other differs.
//!
//! In a first round each worker reads its slice of the input and puts one object for each worker of the second round
//! into an object store; in that one each worker gets what is for it, sorts, and writes.

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
        /// What the objects' names begin with, as `http://host:port/bucket/run`.
        store: String,
        /// The keys that divide the reducers' ranges.
        splitters: Vec<Key>,
    },
    Reduce {
        store: String,
        /// How many workers there were in the first round.
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
                // An answer that is read to its end leaves the connection for the next one.
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

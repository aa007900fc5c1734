//! Joining, grouping and sorting tables: all the work is in [`burst_frame`], and this shows how to use it.
//!
//! # Try it
//! Two tables of two columns, the keys of which are drawn from nine tenths as many numbers as there are rows, as in
//! the papers on Cylon, a distributed dataframe for MPI:
//!
//! ```console
//! $ tabgen left.arrow --rows 4500000 --seed 1
//! $ tabgen right.arrow --rows 4500000 --seed 2
//! $ burst deploy tables examples/tables
//! $ burst flare tables --size 2 --param operation join --param left $PWD/left.arrow --param right $PWD/right.arrow --result
//! $ burst flare tables --size 2 --param operation group-by --param table $PWD/left.arrow --result
//! $ burst flare tables --size 2 --param operation sort --param table $PWD/left.arrow --result
//! ```
//! (`tabgen` is built beside the example: `cargo run --release -p tables --bin tabgen -- left.arrow`.) Each worker answers
//! how many rows of the result it has; with `--param output DIRECTORY` it also writes them there, to an Arrow file that
//! Polars, pandas and DuckDB can read.
//!
//! # How it is done
//! A worker reads its part of a table, calls one function, and writes its part of the result ([`query`]). It never asks
//! how many workers there are, but to know which part it reads.
//!
//! ```
//! use tables::{generate, query::{Query, work}};
//!
//! # let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
//! let path = directory.path().join("table.arrow");
//! generate::write(&path, 100_000, 1).map_err(|e| e.to_string())?;
//!
//! let query = Query::sort(path.display().to_string());
//! let answers = burst::testing::run(work, vec![query; 4], 2).map_err(|e| e.to_string())?;
//! assert_eq!(answers.iter().map(|answer| answer.rows).sum::<usize>(), 100_000);
//! # Ok::<(), String>(())
//! ```

pub mod generate;
pub mod query;

//! Joins, groups and sorts tables. [`burst_frame`] does all the work; this example shows how to use it.
//!
//! # Try it
//! Generate two tables of two columns, with keys from a range nine tenths as large as the number of rows, as in the
//! papers on Cylon, a distributed dataframe for MPI:
//!
//! ```console
//! $ tabgen left.arrow --rows 4500000 --seed 1
//! $ tabgen right.arrow --rows 4500000 --seed 2
//! $ burst deploy tables examples/tables
//! $ burst flare tables --size 2 --param operation join --param left $PWD/left.arrow --param right $PWD/right.arrow --result
//! $ burst flare tables --size 2 --param operation group-by --param table $PWD/left.arrow --result
//! $ burst flare tables --size 2 --param operation sort --param table $PWD/left.arrow --result
//! ```
//! (`tabgen` is built beside the example: `cargo run --release -p tables --bin tabgen -- left.arrow`.) Each worker
//! returns the number of its rows of the result. With `--param output DIRECTORY` it also writes them to an Arrow file
//! there, which Polars, pandas and DuckDB can read.
//!
//! # How it works
//! A worker reads its part of a table, calls one function, and writes its part of the result ([`query`]). It needs the
//! number of workers only to determine which part to read.
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

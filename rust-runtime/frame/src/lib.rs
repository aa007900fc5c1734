//! Tables that are spread over the workers of a flare.
//!
//! Every worker holds some rows of a table, as an Arrow [`RecordBatch`](arrow_array::RecordBatch): it does not matter
//! which rows, nor whether it has any. The operations here are collectives: all workers call them, in the same order,
//! each with its part of the tables, and each gets its part of the result.
//!
//! | operation | result | distribution over the workers |
//! | --- | --- | --- |
//! | [`join`] | the pairs of rows with equal keys | by the key's hash |
//! | [`group_by`] | a row for each key, with aggregates | by the key's hash |
//! | [`sort`] | the same rows | keys of worker `w` are not above those of worker `w + 1` |
//!
//! [`file`](mod@file) reads and writes parts of tables.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use burst::{BurstContext, Error};
//!
//! /// Worker `w` has sold `w + 1` pieces of article 7, and one of an article of its own.
//! fn sold(_: (), burst: &BurstContext) -> Result<usize, Error> {
//!     let worker = i64::from(burst.worker_id());
//!     let article: ArrayRef = Arc::new(Int64Array::from(vec![7, 100 + worker]));
//!     let pieces: ArrayRef = Arc::new(Int64Array::from(vec![worker + 1, 1]));
//!     let sales = RecordBatch::try_from_iter([("article", article), ("pieces", pieces)])?;
//!
//!     let name: ArrayRef = Arc::new(Int64Array::from(vec![7; (worker == 0).into()]));
//!     let wanted = RecordBatch::try_from_iter([("article", name)])?;
//!     let found = burst_frame::join(burst, &sales, &wanted, "article")?;
//!     Ok(found.num_rows())
//! }
//!
//! let rows = burst::testing::run(sold, [(); 4], 2)?;
//! assert_eq!(rows.iter().sum::<usize>(), 4);
//! # Ok::<(), burst::testing::FlareFailed>(())
//! ```
//!
//! # Keys and values
//! A key is one column of integers, dates or times that fit into an `i64`; aggregated values are `Int64` or `Float64`.
//! Neither may hold nulls, whose meaning the caller decides by filtering or filling them first. All other
//! columns may be of any type and are carried along.
//!
//! # How it works
//! [`join`] and [`group_by`] cut each worker's rows by the hash of their keys into many more parts than there are
//! workers, neighbours going to the same worker, and move each column once, to where its parts lie one after another.
//! The rows for a worker are then a slice of that memory, which inside a pack is handed over as is. The receiver works
//! through the parts one by one: each is small enough to stay in a core's cache, with the hash table made for it.
//! [`sort`] does the same with ranges of keys, determined from samples, and each worker sorts by radix the rows that it
//! receives.

mod error;
mod exchange;
pub mod file;
mod group;
mod hash;
mod join;
mod key;
mod partition;
mod sort;

pub use error::FrameError;
pub use group::{Aggregate, group_by};
pub use join::join;
pub use sort::sort;

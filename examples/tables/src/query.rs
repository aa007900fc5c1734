//! The work function.

use burst::BurstContext;
use burst_frame::{Aggregate, file, group_by, join, sort};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The input of every worker.
#[derive(Debug, Clone, Deserialize)]
pub struct Query {
    /// The operation to perform.
    #[serde(flatten)]
    pub operation: Operation,
    /// An existing directory, in which worker `w` writes `part-<w>.arrow`. Without it, nothing is
    /// written.
    #[serde(default)]
    pub output: Option<PathBuf>,
}

/// An operation on tables with the columns `key` and `value`.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
pub enum Operation {
    /// Pairs the rows of two tables that have equal keys.
    Join {
        /// The location of one table.
        left: String,
        /// The location of the other table.
        right: String,
    },
    /// For each key, computes the number of rows and the sum, minimum and maximum of their values.
    GroupBy {
        /// The table.
        table: String,
    },
    /// Sorts the rows by key.
    Sort {
        /// The table.
        table: String,
    },
}

impl Query {
    /// Returns a query that sorts this table and writes nothing.
    pub fn sort(table: String) -> Self {
        Self {
            operation: Operation::Sort { table },
            output: None,
        }
    }
}

/// The output of a worker.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The number of this worker's rows of the result.
    pub rows: usize,
}

/// Runs the query, together with the other workers of the flare.
///
/// # Errors
/// When a file cannot be read or written, when a table lacks the columns, or when communication fails.
pub fn work(query: Query, burst: &BurstContext) -> Result<Answer, burst::Error> {
    burst.phase("read");
    let read = |table: &str| file::read(table, burst.part());
    let result = match &query.operation {
        Operation::Join { left, right } => {
            let (left, right) = (read(left)?, read(right)?);
            burst.phase("join");
            join(burst, &left, &right, "key")?
        }
        Operation::GroupBy { table } => {
            let table = read(table)?;
            burst.phase("group-by");
            let value = || "value".to_owned();
            let aggregates = [
                Aggregate::Count,
                Aggregate::Sum(value()),
                Aggregate::Min(value()),
                Aggregate::Max(value()),
            ];
            group_by(burst, &table, "key", &aggregates)?
        }
        Operation::Sort { table } => {
            let table = read(table)?;
            burst.phase("sort");
            sort(burst, &table, "key")?
        }
    };
    if let Some(directory) = &query.output {
        burst.phase("write");
        let name = format!("part-{:05}.arrow", burst.worker_id());
        file::write(&directory.join(name), &result)?;
    }
    burst.phase("done");
    Ok(Answer {
        rows: result.num_rows(),
    })
}

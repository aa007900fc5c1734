//! The work function.

use burst::BurstContext;
use burst_frame::{Aggregate, file, group_by, join, sort};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What every worker is given.
#[derive(Debug, Clone, Deserialize)]
pub struct Query {
    /// What to do.
    #[serde(flatten)]
    pub operation: Operation,
    /// An existing directory; worker `w` writes `part-<w>.arrow` in it. Without it nothing is written.
    #[serde(default)]
    pub output: Option<PathBuf>,
}

/// What can be done with tables that have the columns `key` and `value`.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
pub enum Operation {
    /// The pairs of rows with equal keys.
    Join {
        /// A table.
        left: String,
        /// Another one.
        right: String,
    },
    /// How many rows each key has, and the sum, smallest and largest of their values.
    GroupBy {
        /// The table.
        table: String,
    },
    /// The rows in the order of their keys.
    Sort {
        /// The table.
        table: String,
    },
}

impl Query {
    /// Sorts this table and writes nothing.
    pub fn sort(table: String) -> Self {
        Self {
            operation: Operation::Sort { table },
            output: None,
        }
    }
}

/// What a worker answers.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Its rows of the result.
    pub rows: usize,
}

/// Does what the query says, together with all other workers of the flare.
///
/// # Errors
/// When a file cannot be read or written or has other columns, and what every communication may end with.
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

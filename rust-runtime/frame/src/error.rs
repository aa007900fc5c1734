//! What goes wrong with tables.

use arrow_schema::{ArrowError, DataType};
use burst::CommunicationError;
use burst::data::DataError;

/// Why an operation on a table gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A table has no such column.
    #[error("there is no column `{column}`; there are: {}", .columns.join(", "))]
    NoColumn {
        /// What was asked for.
        column: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// A column of this type cannot be used so.
    #[error("column `{column}` of type {found} cannot be a {role}: {allowed}")]
    Type {
        /// The column.
        column: String,
        /// Its type.
        found: DataType,
        /// Key or value.
        role: &'static str,
        /// Which types can.
        allowed: &'static str,
    },
    /// Nulls where there must be none.
    #[error("column `{column}` is a {role} and has {nulls} nulls: filter them out, or fill them")]
    Nulls {
        /// The column.
        column: String,
        /// Key or value.
        role: &'static str,
        /// How many.
        nulls: usize,
    },
    /// A sum is too large for its type.
    #[error("the sum of column `{column}` is too large for 64 bits")]
    Overflow {
        /// The column.
        column: String,
    },
    /// More rows in one worker than can be counted.
    #[error("worker {worker} has {rows} rows, more than 4294967295: use more workers")]
    TooManyRows {
        /// The worker.
        worker: u32,
        /// Its rows.
        rows: usize,
    },
    /// Arrow could not do something.
    #[error("Arrow: {0}")]
    Arrow(#[from] ArrowError),
    /// A table's file could not be read.
    #[error("reading a table: {0}")]
    Data(#[from] DataError),
    /// A table's file could not be written or is none.
    #[error("the table in {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: ArrowError,
    },
    /// The workers could not exchange rows.
    #[error("the workers could not exchange rows: {0}")]
    Communication(#[from] CommunicationError),
}

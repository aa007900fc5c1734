//! The errors of operations on tables.

use arrow_schema::{ArrowError, DataType};
use burst::CommunicationError;
use burst::data::DataError;

/// The error of an operation on a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A table has no such column.
    #[error("there is no column `{column}`; there are: {}", .columns.join(", "))]
    NoColumn {
        /// The column's name.
        column: String,
        /// The columns of the table.
        columns: Vec<String>,
    },
    /// A column's type does not fit its use.
    #[error("column `{column}` of type {found} cannot be a {role}: {allowed}")]
    Type {
        /// The column.
        column: String,
        /// Its type.
        found: DataType,
        /// How it is used: as a key or a value.
        role: &'static str,
        /// The types that can be used.
        allowed: &'static str,
    },
    /// Nulls where there must be none.
    #[error("column `{column}` is a {role} and has {nulls} nulls: filter them out, or fill them")]
    Nulls {
        /// The column.
        column: String,
        /// How it is used: as a key or a value.
        role: &'static str,
        /// How many nulls there are.
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
    /// An error of Arrow.
    #[error("Arrow: {0}")]
    Arrow(#[from] ArrowError),
    /// A table's file could not be read.
    #[error("reading a table: {0}")]
    Data(#[from] DataError),
    /// A table's file could not be written, or has another format.
    #[error("the table in {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: ArrowError,
    },
    /// The workers could not exchange rows.
    #[error("the workers could not exchange rows: {0}")]
    Communication(#[from] CommunicationError),
}

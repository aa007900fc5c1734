//! Generates tables like those in the papers on Cylon.

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows per batch; workers divide a file between them by batches.
const BATCH: u64 = 1 << 14;

/// The limit of values, chosen so that sums and products of a few million of them fit into 64 bits.
const VALUES: i64 = 1 << 20;

/// Writes a table with this many rows and the columns `key` and `value`. Keys are uniform in a range nine tenths as
/// large as the number of rows. The same seed gives the same table.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, rows: u64, seed: u64) -> Result<(), ArrowError> {
    let mut random = SmallRng::seed_from_u64(seed);
    let keys = (rows * 9 / 10).max(1) as i64;
    let mut batch = |rows: u64| {
        let mut column = |limit| -> ArrayRef {
            let values = (0..rows).map(|_| random.random_range(0..limit));
            Arc::new(Int64Array::from_iter_values(values))
        };
        RecordBatch::try_from_iter([("key", column(keys)), ("value", column(VALUES))])
    };
    let schema = batch(0)?.schema();
    let mut writer = FileWriter::try_new_buffered(File::create(path)?, &schema)?;
    let mut written = 0;
    while written < rows {
        let next = BATCH.min(rows - written);
        writer.write(&batch(next)?)?;
        written += next;
    }
    writer.finish()
}

//! Joining two tables.

use crate::exchange::exchange;
use crate::hash::HashIndex;
use crate::partition::{self, Received};
use crate::{FrameError, key};
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema};
use arrow_select::take::take;
use burst::BurstContext;
use std::sync::Arc;

/// Returns the pairs of rows of `left` and `right` whose keys in column `on` are equal (an inner join).
///
/// The result has the columns of `left`, then those of `right` except `on`; a column whose name `left` also has is
/// called `<name>_right`. The rows are in no particular order.
///
/// Collective: all workers call it. Every row goes to one worker, chosen by its key's hash, which joins it there; a key
/// in very many rows makes that worker's share larger. Besides the result, two copies of both tables are in memory.
///
/// # Errors
/// When a table has no such column, its keys are of another type than integers, dates or times, or have nulls; and
/// the errors of communication.
pub fn join(
    burst: &BurstContext,
    left: &RecordBatch,
    right: &RecordBatch,
    on: &str,
) -> Result<RecordBatch, FrameError> {
    let rows = (left.num_rows() + right.num_rows()) as u64;
    let rows = *burst.all_reduce(rows, |a, b| a + b)?;
    // The number of parts depends on the rows of one table.
    let each = partition::parts_of_a_worker(rows / 2, burst.burst_size());
    let parts = each * burst.burst_size();
    let distribute = |table: &RecordBatch| {
        let keys = key::keys(table, on)?;
        exchange(&partition::by_hash(table, &keys, parts)?, burst)
    };
    let (left, right) = (distribute(left)?, distribute(right)?);
    let pairs = pairs(&left, &right, on)?;
    paired(&left.table, &right.table, on, pairs)
}

/// The rows of left and right that belong together.
#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

fn pairs(left: &Received, right: &Received, on: &str) -> Result<Pairs, FrameError> {
    let (left_keys, right_keys) = (key::keys(&left.table, on)?, key::keys(&right.table, on)?);
    let mut pairs = Pairs::default();
    pairs.left.reserve(left_keys.len());
    pairs.right.reserve(left_keys.len());
    let (mut positions, mut rows) = (HashIndex::default(), Vec::new());
    for part in 0..left.count() {
        rows.clear();
        rows.extend(right.rows(part).flatten().map(|row| row as u32));
        positions.reset(rows.len());
        for range in right.rows(part) {
            right_keys[range].iter().for_each(|&key| positions.add(key));
        }
        for range in left.rows(part) {
            for (row, &key) in range.clone().zip(&left_keys[range]) {
                for position in positions.of(key) {
                    pairs.left.push(row as u32);
                    pairs.right.push(rows[position]);
                }
            }
        }
    }
    Ok(pairs)
}

fn paired(
    left: &RecordBatch,
    right: &RecordBatch,
    on: &str,
    pairs: Pairs,
) -> Result<RecordBatch, FrameError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    let rows = UInt32Array::from(pairs.left);
    for (field, column) in left.schema_ref().fields().iter().zip(left.columns()) {
        fields.push(Arc::clone(field));
        columns.push(take(column, &rows, None)?);
    }
    let rows = UInt32Array::from(pairs.right);
    let others = right.schema_ref().fields().iter().zip(right.columns());
    for (field, column) in others.filter(|(field, _)| field.name() != on) {
        let name = match left.column_by_name(field.name()) {
            Some(_) => format!("{}_right", field.name()),
            None => field.name().clone(),
        };
        fields.push(Arc::new(Field::clone(field).with_name(name)));
        columns.push(take(column, &rows, None)?);
    }
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new(schema, columns)?)
}

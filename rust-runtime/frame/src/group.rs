//! Grouping a table by a key and aggregating each group.

use crate::exchange::exchange;
use crate::hash::HashIndex;
use crate::partition::{self, Partitions, Received};
use crate::{FrameError, key};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use burst::BurstContext;
use std::sync::Arc;

/// An aggregate of a group of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of rows, as column `count`.
    Count,
    /// The sum of a column, as column `<name>_sum`.
    Sum(String),
    /// The smallest value of a column, as column `<name>_min`.
    Min(String),
    /// The largest value of a column, as column `<name>_max`.
    Max(String),
}

impl Aggregate {
    /// The name of the column it makes.
    fn name(&self) -> String {
        match self {
            Self::Count => "count".to_owned(),
            Self::Sum(column) => format!("{column}_sum"),
            Self::Min(column) => format!("{column}_min"),
            Self::Max(column) => format!("{column}_max"),
        }
    }

    /// The column it reads.
    fn column(&self) -> Option<&str> {
        match self {
            Self::Count => None,
            Self::Sum(column) | Self::Min(column) | Self::Max(column) => Some(column),
        }
    }

    /// The aggregate that combines this aggregate's results for some of the rows into that for all of them.
    fn of_parts(&self) -> Self {
        match self {
            Self::Count | Self::Sum(_) => Self::Sum(self.name()),
            Self::Min(_) => Self::Min(self.name()),
            Self::Max(_) => Self::Max(self.name()),
        }
    }
}

/// Returns a row for each key of column `by`, with that key and the aggregates of all its rows, in the order given.
///
/// Collective: all workers call it. Each aggregates its own rows first, so that no more than one row for each key
/// is sent; then every key's rows go to one worker, chosen by the key's hash. The rows of the result are in no
/// particular order.
///
/// # Errors
/// When there is no such column, the keys are of another type than integers, dates or times, the values neither
/// `Int64` nor `Float64`, or either has nulls; when a sum of integers needs more than 64 bits; and the
/// errors of communication.
pub fn group_by(
    burst: &BurstContext,
    table: &RecordBatch,
    by: &str,
    aggregates: &[Aggregate],
) -> Result<RecordBatch, FrameError> {
    let rows = *burst.all_reduce(table.num_rows() as u64, |a, b| a + b)?;
    let each = partition::parts_of_a_worker(rows, burst.burst_size());
    let keys = key::keys(table, by)?;
    let parts = partition::by_hash(table, &keys, each * burst.burst_size())?;
    let some = aggregated(&Received::own(parts), by, aggregates)?;
    let names: Vec<String> = aggregates.iter().map(Aggregate::name).collect();
    let of_parts: Vec<Aggregate> = aggregates.iter().map(Aggregate::of_parts).collect();
    let all = aggregated(&exchange(&some, burst)?, by, &of_parts)?;
    renamed(&all.table, &names)
}

/// Renames all columns except the first.
fn renamed(table: &RecordBatch, names: &[String]) -> Result<RecordBatch, FrameError> {
    let (key, values) = table.schema_ref().fields().split_at(1);
    let named = values.iter().zip(names);
    let named = named.map(|(field, name)| Arc::new(Field::clone(field).with_name(name)));
    let fields: Vec<_> = key.iter().cloned().chain(named).collect();
    let columns = table.columns().to_vec();
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns,
    )?)
}

/// The groups of rows, part by part.
struct Groups {
    /// The group of each row.
    of_row: Vec<u32>,
    /// A row of each group.
    rows: Vec<u32>,
    /// Where the groups of each part begin, and where those of the last one end.
    starts: Vec<u32>,
}

impl Groups {
    fn of(rows: &Received, keys: &[i64]) -> Self {
        let mut groups = Self {
            of_row: vec![0; keys.len()],
            rows: Vec::new(),
            starts: vec![0],
        };
        let mut index = HashIndex::default();
        for part in 0..rows.count() {
            let first = groups.rows.len();
            index.reset(rows.rows(part).map(|range| range.len()).sum());
            for row in rows.rows(part).flatten() {
                let key = keys[row];
                let found = index.of(key).next();
                let group = found.unwrap_or_else(|| {
                    index.add(key);
                    groups.rows.push(row as u32);
                    index.len() - 1
                });
                groups.of_row[row] = (first + group) as u32;
            }
            groups.starts.push(groups.rows.len() as u32);
        }
        groups
    }
}

/// Aggregates rows; the groups are in the order of the rows' parts.
fn aggregated(
    rows: &Received,
    by: &str,
    aggregates: &[Aggregate],
) -> Result<Partitions, FrameError> {
    let groups = Groups::of(rows, &key::keys(&rows.table, by)?);
    let keys = key::column(&rows.table, by)?;
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    fields.push(Field::new(by, keys.data_type().clone(), false));
    columns.push(take(keys, &UInt32Array::from(groups.rows.clone()), None)?);
    for aggregate in aggregates {
        let column = match aggregate.column() {
            None => count(&groups),
            Some(name) => {
                let values = key::column(&rows.table, name)?;
                let values = key::without_nulls(values, name, "value")?;
                combined(&groups, aggregate, name, values)?
            }
        };
        let name = aggregate.name();
        fields.push(Field::new(name, column.data_type().clone(), false));
        columns.push(column);
    }
    Ok(Partitions {
        table: RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?,
        starts: groups.starts,
    })
}

fn count(groups: &Groups) -> ArrayRef {
    let mut counts = vec![0i64; groups.rows.len()];
    for &group in &groups.of_row {
        counts[group as usize] += 1;
    }
    Arc::new(Int64Array::from(counts))
}

fn combined(
    groups: &Groups,
    aggregate: &Aggregate,
    name: &str,
    values: &dyn Array,
) -> Result<ArrayRef, FrameError> {
    match values.data_type() {
        DataType::Int64 => {
            let values = values.as_primitive::<Int64Type>().values();
            let combined = match aggregate {
                Aggregate::Min(_) => fold(groups, values, i64::MAX, |a, b| Some(a.min(b))),
                Aggregate::Max(_) => fold(groups, values, i64::MIN, |a, b| Some(a.max(b))),
                Aggregate::Sum(_) | Aggregate::Count => {
                    fold(groups, values, 0, |a, b| a.checked_add(b))
                }
            };
            let combined = combined.ok_or_else(|| FrameError::Overflow {
                column: name.to_owned(),
            })?;
            Ok(Arc::new(Int64Array::from(combined)))
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            let combined = match aggregate {
                Aggregate::Min(_) => fold(groups, values, f64::NAN, |a, b| Some(a.min(b))),
                Aggregate::Max(_) => fold(groups, values, f64::NAN, |a, b| Some(a.max(b))),
                Aggregate::Sum(_) | Aggregate::Count => {
                    fold(groups, values, 0.0, |a, b| Some(a + b))
                }
            };
            Ok(Arc::new(Float64Array::from(combined.unwrap_or_default())))
        }
        found => Err(FrameError::Type {
            column: name.to_owned(),
            found: found.clone(),
            role: "value",
            allowed: "values are Int64 or Float64",
        }),
    }
}

/// Combines the values of each group; none when `op` has no result.
fn fold<T: Copy>(
    groups: &Groups,
    values: &[T],
    first: T,
    op: impl Fn(T, T) -> Option<T>,
) -> Option<Vec<T>> {
    let mut combined = vec![first; groups.rows.len()];
    for (&group, &value) in groups.of_row.iter().zip(values) {
        let total = &mut combined[group as usize];
        *total = op(*total, value)?;
    }
    Some(combined)
}

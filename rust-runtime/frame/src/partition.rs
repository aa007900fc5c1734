//! Moving the rows of a table to where their parts lie one after another.

use crate::FrameError;
use crate::hash;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, make_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_select::take::take;
use std::ops::Range;
use std::sync::Arc;

/// The most parts at a time; with more, a core would write to more places than it can keep at hand.
const MOST_PARTS: u32 = 2048;

/// Rows per part, few enough that its hash table stays in a core's cache.
const ROWS_OF_A_PART: u64 = 4096;

/// A table whose rows lie in the order of their parts.
pub struct Partitions {
    /// The rows.
    pub table: RecordBatch,
    /// Where each part begins, and where the last one ends.
    pub starts: Vec<u32>,
}

impl Partitions {
    /// Returns the rows of consecutive parts as parts of their own; shares the memory.
    pub fn slice(&self, parts: Range<usize>) -> Self {
        let starts = &self.starts[parts.start..=parts.end];
        let first = starts[0];
        let length = (starts[starts.len() - 1] - first) as usize;
        Self {
            table: self.table.slice(first as usize, length),
            starts: starts.iter().map(|start| start - first).collect(),
        }
    }
}

/// Returns into how many parts to cut each worker's share of this many rows.
pub fn parts_of_a_worker(rows: u64, workers: u32) -> u32 {
    let wanted = rows / u64::from(workers) / ROWS_OF_A_PART;
    let most = u64::from((MOST_PARTS / workers).max(1));
    wanted.clamp(1, most) as u32
}

/// Orders the rows by the hash of their keys, in `parts` parts.
pub fn by_hash(table: &RecordBatch, keys: &[i64], parts: u32) -> Result<Partitions, FrameError> {
    by(table, keys, parts, |key| hash::part(hash::hash(key), parts))
}

/// Orders the rows by `part_of` their keys, which is below `parts`. Rows of one part keep their order. There are at
/// most `u32::MAX` rows.
pub fn by(
    table: &RecordBatch,
    keys: &[i64],
    parts: u32,
    part_of: impl Fn(i64) -> u32,
) -> Result<Partitions, FrameError> {
    let mut starts = vec![0u32; parts as usize + 1];
    let mut positions: Vec<u32> = keys.iter().map(|&key| part_of(key)).collect();
    for &part in &positions {
        starts[part as usize + 1] += 1;
    }
    for part in 1..starts.len() {
        starts[part] += starts[part - 1];
    }
    let mut next = starts.clone();
    for position in &mut positions {
        let next = &mut next[*position as usize];
        *position = *next;
        *next += 1;
    }
    let columns = table
        .columns()
        .iter()
        .map(|column| moved(column, &positions));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(Partitions {
        table: RecordBatch::try_new(table.schema(), columns)?,
        starts,
    })
}

/// The column with the value of row `r` at `positions[r]`.
fn moved(column: &ArrayRef, positions: &[u32]) -> Result<ArrayRef, FrameError> {
    let data = column.to_data();
    let width = match data.null_count() {
        0 => data.data_type().primitive_width(),
        _ => None,
    };
    // Fixed-width values without nulls are read in order and written to their parts, which is the faster way round.
    let values = match width {
        Some(1) => scattered::<u8>(&data, positions),
        Some(2) => scattered::<u16>(&data, positions),
        Some(4) => scattered::<u32>(&data, positions),
        Some(8) => scattered::<u64>(&data, positions),
        _ => {
            let mut rows = vec![0u32; positions.len()];
            for (row, &position) in positions.iter().enumerate() {
                rows[position as usize] = row as u32;
            }
            return Ok(take(column, &UInt32Array::from(rows), None)?);
        }
    };
    let moved = ArrayData::builder(data.data_type().clone())
        .len(data.len())
        .add_buffer(values);
    Ok(make_array(moved.build()?))
}

fn scattered<T: ArrowNativeType>(data: &ArrayData, positions: &[u32]) -> Buffer {
    let mut values = vec![T::default(); data.len()];
    for (&value, &position) in data.buffer::<T>(0).iter().zip(positions) {
        values[position as usize] = value;
    }
    Buffer::from_vec(values)
}

/// The rows of parts that came from several workers.
pub struct Received {
    /// All rows.
    pub table: RecordBatch,
    /// For each sender, where its rows of each part begin in `table`, and where those of the last part end.
    starts: Vec<Vec<u32>>,
}

impl Received {
    /// Wraps a worker's own rows.
    pub fn own(parts: Partitions) -> Self {
        Self {
            table: parts.table,
            starts: vec![parts.starts],
        }
    }

    /// Combines what several workers sent, in the same number of parts each.
    pub fn all(parts: Vec<Partitions>, worker: u32) -> Result<Self, FrameError> {
        let rows: usize = parts.iter().map(|parts| parts.table.num_rows()).sum();
        if u32::try_from(rows).is_err() {
            return Err(FrameError::TooManyRows { worker, rows });
        }
        let tables: Vec<_> = parts.iter().map(|parts| &parts.table).collect();
        let schema = tables.first().map_or_else(
            || Arc::new(arrow_schema::Schema::empty()),
            |table| table.schema(),
        );
        let table = arrow_select::concat::concat_batches(&schema, tables)?;
        let mut before = 0;
        let starts = parts.into_iter().map(|parts| {
            let starts: Vec<u32> = parts.starts.iter().map(|start| before + start).collect();
            before += parts.table.num_rows() as u32;
            starts
        });
        let starts = starts.collect();
        Ok(Self { table, starts })
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.starts.first().map_or(0, |starts| starts.len() - 1)
    }

    /// The rows of a part: a range for each sender.
    pub fn rows(&self, part: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        let range = move |starts: &Vec<u32>| starts[part] as usize..starts[part + 1] as usize;
        self.starts.iter().map(range)
    }
}

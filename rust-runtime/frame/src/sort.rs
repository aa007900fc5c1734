//! Sorting a table.

use crate::exchange::exchange;
use crate::{FrameError, key, partition};
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use burst::BurstContext;

/// Keys each worker contributes to the sample; more make the workers' shares more even.
const SAMPLES_PER_WORKER: usize = 1024;

/// Bits of the key by which one pass sorts the rows.
const DIGIT: u32 = 11;

/// Returns the rows in the order of their keys in column `by`: those of worker `w` in ascending order, and none above
/// those of worker `w + 1`.
///
/// Collective: all workers call it. The range of keys of each worker is determined from samples; rows of equal
/// keys go to the same worker. They stay in the order of the workers they come from, and in the order they had there.
///
/// # Errors
/// When there is no such column, the keys are of another type than integers, dates or times, or have nulls; and the
/// errors of communication.
pub fn sort(
    burst: &BurstContext,
    table: &RecordBatch,
    by: &str,
) -> Result<RecordBatch, FrameError> {
    let keys = key::keys(table, by)?;
    let splitters = agree_on_splitters(&keys, burst)?;
    let part = |key| splitters.partition_point(|&splitter| splitter <= key) as u32;
    let parts = partition::by(table, &keys, burst.burst_size(), part)?;
    let received = exchange(&parts, burst)?.table;
    drop(parts);
    let order = order(&key::keys(&received, by)?);
    Ok(take_record_batch(&received, &UInt32Array::from(order))?)
}

/// Determines the keys that divide the workers' ranges: worker `w` takes the keys from splitter `w - 1` up to, but not
/// including, splitter `w`. Every worker gets the same splitters.
fn agree_on_splitters(keys: &[i64], burst: &BurstContext) -> Result<Vec<i64>, FrameError> {
    let step = (keys.len() / SAMPLES_PER_WORKER).max(1);
    let sample: Vec<i64> = keys.iter().step_by(step).copied().collect();
    let splitters = burst.gather(sample, 0)?.map(|samples| {
        let mut keys = samples.concat();
        keys.sort_unstable();
        let workers = burst.burst_size() as usize;
        let cuts = (1..workers).filter_map(|w| keys.get(keys.len() * w / workers).copied());
        cuts.collect::<Vec<_>>()
    });
    Ok(burst.broadcast(splitters, 0)?.to_vec())
}

/// Returns the rows in the order of their keys, sorted by radix: from the lowest digit of the keys to the highest, each
/// pass keeping the order of the one before among equals.
fn order(keys: &[i64]) -> Vec<u32> {
    let (Some(&lowest), Some(&highest)) = (keys.iter().min(), keys.iter().max()) else {
        return Vec::new();
    };
    let range = highest.wrapping_sub(lowest) as u64;
    let mut rows: Vec<(u64, u32)> = (0..)
        .zip(keys)
        .map(|(row, key)| (key.wrapping_sub(lowest) as u64, row))
        .collect();
    let mut sorted = vec![(0, 0); rows.len()];
    for shift in (0..u64::BITS - range.leading_zeros()).step_by(DIGIT as usize) {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = vec![0u32; (1 << DIGIT) + 1];
        rows.iter().for_each(|&(key, _)| next[digit(key) + 1] += 1);
        for value in 1..next.len() {
            next[value] += next[value - 1];
        }
        for &row in &rows {
            let next = &mut next[digit(row.0)];
            sorted[*next as usize] = row;
            *next += 1;
        }
        std::mem::swap(&mut rows, &mut sorted);
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_of_equal_keys_keep_their_order(
            keys in prop_oneof![prop::collection::vec(any::<i64>(), 0..200), prop::collection::vec(-3i64..3, 0..200)],
        ) {
            let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
            expected.sort_by_key(|&row| keys[row as usize]);
            prop_assert_eq!(order(&keys), expected);
        }
    }
}

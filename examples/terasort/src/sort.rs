//! The work function. Each worker reads its slice of the records. The workers agree on splitters from a sample of
//! the keys and send each record to the worker responsible for its key (all-to-all). Then each worker sorts and
//! writes the records it received: the keys in worker `w`'s file are smaller than those in worker `w + 1`'s.

use crate::record::{Key, RECORD, key};
use burst::BurstContext;
use burst::data::{Part, share};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The number of keys that each worker contributes to the sample. More keys make the workers' shares more even.
const SAMPLES_PER_WORKER: usize = 512;

/// The number of bytes to buffer before writing.
const WRITE_BUFFER: usize = 1 << 20;

/// The input of every worker.
#[derive(Clone, Deserialize)]
pub struct Input {
    /// The file to sort.
    pub input: PathBuf,
    /// An existing directory, in which worker `w` writes `part-<w>`.
    pub output: PathBuf,
}

/// The output of a worker.
#[derive(Debug, Serialize)]
pub struct Sorted {
    /// The number of records it read.
    pub read: u64,
    /// The number of records it wrote.
    pub written: u64,
}

/// Sorts `input.input` into `input.output`, together with the other workers of the flare.
pub fn work(input: Input, burst: &BurstContext) -> Result<Sorted, burst::Error> {
    burst.phase("read");
    let records = read_share(&input.input, burst.part())?;

    burst.phase("shuffle");
    let splitters = agree_on_splitters(&records, burst)?;
    let parts = partition(&records, &splitters, burst.burst_size() as usize);
    let read = (records.len() / RECORD) as u64;
    drop(records);
    let received = burst.all_to_all(parts)?;

    burst.phase("sort");
    let order = sorted_order(&received);

    burst.phase("write");
    let path = input.output.join(format!("part-{:05}", burst.worker_id()));
    write_in_order(File::create(path)?, &received, &order)?;
    Ok(Sorted {
        read,
        written: order.len() as u64,
    })
}

/// Reads a part of the records of a file.
///
/// # Errors
/// When the file cannot be read, or its size is not a whole number of records.
pub fn read_share(input: &Path, part: Part) -> Result<Vec<u8>, burst::Error> {
    let file = File::open(input)?;
    let length = file.metadata()?.len();
    if length % RECORD as u64 != 0 {
        return Err(burst::Error::new(format!(
            "{} has {length} bytes, which is no whole number of {RECORD}-byte records",
            input.display()
        )));
    }
    let share = share(length / RECORD as u64, part);
    let mut records = vec![0; (share.end - share.start) as usize * RECORD];
    file.read_exact_at(&mut records, share.start * RECORD as u64)?;
    Ok(records)
}

/// Returns the keys that divide the workers' ranges: worker `w` takes the keys from splitter `w - 1` (inclusive)
/// to splitter `w` (exclusive). All workers get the same splitters.
fn agree_on_splitters(records: &[u8], burst: &BurstContext) -> Result<Vec<Key>, burst::Error> {
    let step = (records.len() / RECORD / SAMPLES_PER_WORKER).max(1);
    let sample: Vec<Key> = records
        .chunks_exact(RECORD)
        .step_by(step)
        .map(key)
        .collect();
    let splitters = burst.gather(sample, 0)?.map(|samples| {
        let mut keys = samples.concat();
        keys.sort_unstable();
        let workers = burst.burst_size() as usize;
        (1..workers)
            .filter_map(|w| keys.get(keys.len() * w / workers).copied())
            .collect::<Vec<_>>()
    });
    Ok(burst.broadcast(splitters, 0)?.to_vec())
}

/// Divides the records by the worker that receives them. A first pass counts them, so that each part is allocated
/// only once.
pub fn partition(records: &[u8], splitters: &[Key], workers: usize) -> Vec<Vec<u8>> {
    let owner = |record: &[u8]| {
        let key = key(record);
        splitters.partition_point(|splitter| *splitter <= key)
    };
    let owners: Vec<u16> = records
        .chunks_exact(RECORD)
        .map(|r| owner(r) as u16)
        .collect();
    let mut counts = vec![0; workers];
    owners
        .iter()
        .for_each(|&owner| counts[usize::from(owner)] += 1);
    let mut parts: Vec<Vec<u8>> = counts
        .into_iter()
        .map(|count: usize| Vec::with_capacity(count * RECORD))
        .collect();
    for (record, owner) in records.chunks_exact(RECORD).zip(owners) {
        parts[usize::from(owner)].extend_from_slice(record);
    }
    parts
}

/// A received record's key and position: the index of the part, and of the record within it.
pub type Entry = (u64, u16, u16, u32);

/// Returns the positions of the records of `parts`, in the order of their keys. Sorting these 16-byte entries
/// instead of the records makes better use of the cache, and each record is moved only once, when it is written.
pub fn sorted_order(parts: &[Vec<u8>]) -> Vec<Entry> {
    let mut order = Vec::with_capacity(parts.iter().map(Vec::len).sum::<usize>() / RECORD);
    for (part, records) in parts.iter().enumerate() {
        let entries = records.chunks_exact(RECORD).enumerate();
        order.extend(entries.map(|(at, record)| {
            let (head, tail) = key(record);
            (head, tail, part as u16, at as u32)
        }));
    }
    order.sort_unstable();
    order
}

/// Writes the records of `parts` in this order.
///
/// # Errors
/// When the file cannot be written.
pub fn write_in_order(mut file: File, parts: &[Vec<u8>], order: &[Entry]) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(WRITE_BUFFER + RECORD);
    for &(_, _, part, at) in order {
        let start = at as usize * RECORD;
        buffer.extend_from_slice(&parts[usize::from(part)][start..start + RECORD]);
        if buffer.len() >= WRITE_BUFFER {
            file.write_all(&buffer)?;
            buffer.clear();
        }
    }
    file.write_all(&buffer)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{generate::Records, validate};

    #[test]
    fn records_are_sorted_at_any_size_and_granularity() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("input");
        for count in [0, 1, 5, 20_000] {
            let records = Records { count, seed: 42 };
            records.write(&input, 2).unwrap();
            let expected = validate::summarise(&input).unwrap();
            for (size, granularity) in [
                (1, 1),
                (2, 1),
                (2, 2),
                (3, 1),
                (3, 2),
                (8, 1),
                (8, 4),
                (8, 8),
            ] {
                let output = tempfile::tempdir().unwrap();
                let given = Input {
                    input: input.clone(),
                    output: output.path().into(),
                };
                let sorted = burst::testing::run(work, vec![given; size], granularity).unwrap();
                assert_eq!(validate::check_sorted(output.path()).unwrap(), expected);
                assert_eq!(sorted.iter().map(|s| s.written).sum::<u64>(), count);
                if count > 10_000 {
                    let most = sorted.iter().map(|s| s.written).max().unwrap();
                    assert!(most <= count / size as u64 * 3 / 2, "uneven: {sorted:?}");
                }
            }
        }
    }

    #[test]
    fn equal_keys_are_sorted_and_truncated_input_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("input");
        std::fs::write(&input, b"same-key!!".repeat(10).repeat(500)).unwrap();
        let given = Input {
            input: input.clone(),
            output: directory.path().join("out"),
        };
        std::fs::create_dir(&given.output).unwrap();
        burst::testing::run(work, vec![given.clone(); 3], 2).unwrap();
        assert_eq!(
            validate::check_sorted(&given.output).unwrap(),
            validate::summarise(&input).unwrap()
        );

        std::fs::write(&input, [b'x'; 150]).unwrap();
        let error = burst::testing::run(work, vec![given; 2], 1).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("whole number of 100-byte records"),
            "{error}"
        );
    }
}

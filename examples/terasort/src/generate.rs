//! Generates TeraSort input. The same seed and size give the same file, whatever the number of
//! threads.

use crate::record::RECORD;
use burst::data::{Part, share};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Records per block. Each block has its own random sequence, so that threads can generate blocks
/// independently.
const BLOCK: u64 = 8192;

/// The records of an input.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    /// How many there are.
    pub count: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Records {
    /// Writes them to `path` on `threads` threads.
    pub fn write(self, path: &Path, threads: u32) -> io::Result<()> {
        let Self { count, seed } = self;
        let file = File::create(path)?;
        file.set_len(count * RECORD as u64)?;
        let blocks = count.div_ceil(BLOCK);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..threads.max(1))
                .map(|thread| {
                    let file = &file;
                    scope.spawn(move || {
                        let own = Part {
                            index: thread,
                            of: threads.max(1),
                        };
                        let mut buffer = Vec::with_capacity(BLOCK as usize * RECORD);
                        share(blocks, own).try_for_each(|block| {
                            let first = block * BLOCK;
                            buffer.clear();
                            fill(&mut buffer, first..count.min(first + BLOCK), seed ^ block);
                            file.write_all_at(&buffer, first * RECORD as u64)
                        })
                    })
                })
                .collect();
            writers.into_iter().try_for_each(|writer| {
                writer
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a generating thread panicked")))
            })
        })
    }
}

fn fill(buffer: &mut Vec<u8>, numbers: std::ops::Range<u64>, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    for number in numbers {
        buffer.extend((0..10).map(|_| random.random_range(b' '..=b'~')));
        buffer.extend_from_slice(b"  ");
        let digits = format!("{number:032X}");
        buffer.extend_from_slice(digits.as_bytes());
        buffer.extend_from_slice(b"  ");
        for _ in 0..13 {
            let digit = b"0123456789ABCDEF"[random.random_range(0..16)];
            buffer.extend_from_slice(&[digit; 4]);
        }
        buffer.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_file_depends_only_on_the_seed() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, seed, threads| {
            let path = directory.path().join(name);
            let records = Records {
                count: 20_000,
                seed,
            };
            records.write(&path, threads).unwrap();
            std::fs::read(path).unwrap()
        };
        let one = make("one", 1, 1);
        assert_eq!(one.len(), 20_000 * RECORD);
        assert!(
            one.chunks(RECORD)
                .all(|record| record.ends_with(b"\r\n") && record.is_ascii())
        );
        assert_eq!(one, make("three", 1, 3));
        assert_ne!(one, make("other", 2, 1));
    }
}

//! Counts the words of a file or of all files below a directory. A word is a run of ASCII letters, in lower case.
//!
//! Every worker counts the words in its share of the bytes, sends each word's count to the worker chosen by the
//! word's hash (all-to-all), and adds up the counts it receives. Worker 0 gathers the most frequent words.

mod text;

use burst::BurstContext;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The input of every worker.
#[derive(Clone, Deserialize)]
struct Input {
    /// A file, or a directory of which all regular files are read, at any depth.
    path: PathBuf,
    /// Extensions of files to skip because they are not text.
    #[serde(default)]
    except: Vec<String>,
    /// A directory in which each worker writes `part-NNNNN` with lines of `word count`. Without it, nothing is
    /// written.
    output: Option<PathBuf>,
    /// The number of most frequent words that worker 0 returns.
    #[serde(default = "default_top")]
    top: usize,
}

fn default_top() -> usize {
    10
}

/// The output of a worker.
#[derive(Debug, Serialize)]
struct Counted {
    bytes: u64,
    words: u64,
    distinct: usize,
    /// The most frequent words of the whole text; empty except in worker 0.
    top: Vec<(String, u64)>,
}

type Counts = HashMap<String, u64, BuildHasherDefault<DefaultHasher>>;

fn work(input: Input, burst: &BurstContext) -> Result<Counted, burst::Error> {
    burst.phase("read");
    let files = text::list(&input.path, &input.except)?;
    let share = text::share(&files, burst.part());

    let mut counts = Counts::default();
    let bytes = text::for_each_word(&files, share, |word| match counts.get_mut(word) {
        Some(count) => *count += 1,
        None => {
            counts.insert(word.to_owned(), 1);
        }
    })?;

    burst.phase("shuffle");
    let mut parts = vec![Vec::new(); burst.burst_size() as usize];
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    for (word, count) in counts {
        let owner = hasher.hash_one(&word) % parts.len() as u64;
        parts[owner as usize].push((word, count));
    }
    let received = burst.all_to_all(parts)?;

    burst.phase("merge");
    let mut totals = Counts::default();
    for (word, count) in received.into_iter().flatten() {
        *totals.entry(word).or_default() += count;
    }
    let words = totals.values().sum();
    let mut ranked: Vec<(String, u64)> = totals.into_iter().collect();

    if let Some(directory) = &input.output {
        burst.phase("write");
        ranked.sort_unstable();
        write_part(directory, burst.worker_id(), &ranked)?;
    }

    burst.phase("rank");
    let distinct = ranked.len();
    most_frequent(&mut ranked, input.top);
    let mut top = burst.gather(ranked, 0)?.unwrap_or_default().concat();
    most_frequent(&mut top, input.top);
    Ok(Counted {
        bytes,
        words,
        distinct,
        top,
    })
}

/// Keeps the `top` most frequent words, sorted; ties are in alphabetical order.
fn most_frequent(words: &mut Vec<(String, u64)>, top: usize) {
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.truncate(top);
}

fn write_part(
    directory: &std::path::Path,
    worker: u32,
    counts: &[(String, u64)],
) -> std::io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(
        directory.join(format!("part-{worker:05}")),
    )?);
    for (word, count) in counts {
        writeln!(file, "{word} {count}")?;
    }
    file.flush()
}

burst::main!(work);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &[&str] = &[
        "The cat and the hat",
        "and THE-end: cat's\u{e9}cole",
        "",
        "x",
    ];

    fn expected() -> Vec<(String, u64)> {
        [
            ("the", 3),
            ("and", 2),
            ("cat", 2),
            ("cole", 1),
            ("end", 1),
            ("hat", 1),
            ("s", 1),
            ("x", 1),
        ]
        .map(|(word, count)| (word.to_owned(), count))
        .to_vec()
    }

    #[test]
    fn counts_are_the_same_at_any_size_and_granularity() {
        let directory = tempfile::tempdir().unwrap();
        for (i, text) in TEXT.iter().enumerate() {
            std::fs::write(directory.path().join(i.to_string()), text).unwrap();
        }
        std::fs::write(directory.path().join("packed.gz"), "not a text").unwrap();
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
            let out = tempfile::tempdir().unwrap();
            let input = Input {
                path: directory.path().into(),
                except: vec!["gz".into()],
                output: Some(out.path().into()),
                top: 20,
            };
            let outputs = burst::testing::run(work, vec![input; size], granularity).unwrap();
            assert_eq!(
                outputs[0].top,
                expected(),
                "size {size}, granularity {granularity}"
            );
            assert_eq!(outputs.iter().map(|o| o.words).sum::<u64>(), 12);
            assert_eq!(
                outputs.iter().map(|o| o.bytes).sum::<u64>(),
                TEXT.iter().map(|t| t.len() as u64).sum::<u64>()
            );
            let mut lines: Vec<String> = (0..size)
                .flat_map(|i| {
                    let part = out.path().join(format!("part-{i:05}"));
                    std::fs::read_to_string(part)
                        .unwrap()
                        .lines()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                })
                .collect();
            lines.sort();
            assert_eq!(
                lines.len(),
                outputs.iter().map(|o| o.distinct).sum::<usize>()
            );
            assert!(lines.contains(&"the 3".to_owned()));
        }
    }
}

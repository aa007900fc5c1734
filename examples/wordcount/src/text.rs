//! Reads a share of many files. The concatenated bytes of all files are divided into equal ranges, and a word
//! belongs to the range that contains its first letter.

use burst::data::{self, Part};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file and its length at the time it was listed.
pub struct TextFile {
    path: PathBuf,
    length: u64,
}

/// Returns the regular files at or below `path`, sorted by path, without those that have one of the extensions
/// `except`. Does not follow symbolic links.
pub fn list(path: &Path, except: &[String]) -> std::io::Result<Vec<TextFile>> {
    let excepted = |path: &Path| {
        path.extension()
            .is_some_and(|found| except.iter().any(|extension| found == extension.as_str()))
    };
    let mut files = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        let meta = std::fs::symlink_metadata(&path)?;
        if meta.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        } else if meta.is_file() && !excepted(&path) {
            files.push(TextFile {
                path,
                length: meta.len(),
            });
        }
    }
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns a part's range of the files' concatenated bytes.
pub fn share(files: &[TextFile], part: Part) -> Range<u64> {
    data::share(files.iter().map(|file| file.length).sum(), part)
}

/// Calls `found` with every word that begins in `share`, and returns the length of the share in bytes.
pub fn for_each_word(
    files: &[TextFile],
    share: Range<u64>,
    mut found: impl FnMut(&str),
) -> std::io::Result<u64> {
    let mut start_of_file = 0;
    for file in files {
        let here = start_of_file..start_of_file + file.length;
        start_of_file = here.end;
        let from = share.start.max(here.start);
        let to = share.end.min(here.end);
        if from < to {
            words_of(&file.path, from - here.start..to - here.start, &mut found)?;
        }
    }
    Ok(share.end - share.start)
}

fn words_of(path: &Path, range: Range<u64>, found: &mut impl FnMut(&str)) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    // The byte before the range shows whether the range begins inside a word of the previous range.
    let mut at = range.start.saturating_sub(1);
    file.seek(SeekFrom::Start(at))?;
    let mut skipping = range.start > 0;
    let mut word = String::new();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        for &byte in &buffer[..count] {
            let letter = byte.is_ascii_alphabetic();
            if !letter {
                if !word.is_empty() {
                    found(&word);
                    word.clear();
                }
                skipping = false;
                if at >= range.end {
                    return Ok(());
                }
            } else if !skipping {
                if word.is_empty() && at >= range.end {
                    return Ok(());
                }
                word.push(char::from(byte.to_ascii_lowercase()));
            } else if at >= range.end {
                return Ok(());
            }
            at += 1;
        }
    }
    if !word.is_empty() {
        found(&word);
    }
    Ok(())
}

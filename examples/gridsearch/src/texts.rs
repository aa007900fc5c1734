//! Labelled texts as numbers.
//!
//! The data set consists of lines `label<tab>text`, where the label is 0 or 1. A word is a run of ASCII letters,
//! converted to lower case. It is represented by its hash, one of [`FEATURES`] values, so that the workers need not
//! agree on a dictionary.

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;
use std::ops::Range;

/// The number of distinct word hashes.
pub const FEATURES: usize = 1 << 16;

/// A list of labelled texts.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// The number of each text's line in the data set.
    pub lines: Vec<u32>,
    labels: Vec<bool>,
    /// The index in `words` at which each text's words end.
    ends: Vec<u32>,
    words: Vec<u16>,
}

/// A line without a label.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the data set does not begin with 0 or 1 and a tab")]
pub struct NoLabel {
    /// The number of the line, from 1.
    pub line: u64,
}

impl Texts {
    /// Reads the lines of `data` that begin within `share`.
    ///
    /// # Errors
    /// When a line has no label.
    pub fn parse(data: &[u8], share: Range<usize>) -> Result<Self, NoLabel> {
        let line_from = |at: usize| {
            // A share starts at the first line that begins within it.
            let before = data[..at].last().is_none_or(|&byte| byte == b'\n');
            let rest = || data[at..].iter().position(|&byte| byte == b'\n');
            match before {
                true => at,
                false => rest().map_or(data.len(), |found| at + found + 1),
            }
        };
        let (start, end) = (line_from(share.start), line_from(share.end));
        let first = data[..start].iter().filter(|&&byte| byte == b'\n').count();
        let mut texts = Self::default();
        let lines = data[start..end].split(|&byte| byte == b'\n');
        for (number, line) in (first..).zip(lines).filter(|(_, line)| !line.is_empty()) {
            let (label, text) = match line {
                [label @ (b'0' | b'1'), b'\t', text @ ..] => (*label == b'1', text),
                _ => {
                    let line = number as u64 + 1;
                    return Err(NoLabel { line });
                }
            };
            texts.lines.push(number as u32);
            texts.labels.push(label);
            let words = text.split(|byte| !byte.is_ascii_alphabetic());
            texts
                .words
                .extend(words.filter(|word| !word.is_empty()).map(hashed));
            texts.ends.push(texts.words.len() as u32);
        }
        Ok(texts)
    }

    /// Returns each text with its line, words and label.
    pub fn iter(&self) -> impl Iterator<Item = Text<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        let texts = self.lines.iter().zip(&self.labels).zip(ranges);
        texts.map(|((&line, &label), (start, &end))| Text {
            line,
            label,
            words: &self.words[start as usize..end as usize],
        })
    }
}

/// A labelled text.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The number of its line in the data set, from 0.
    pub line: u32,
    /// Its label: true for 1.
    pub label: bool,
    /// The hashes of its words, all below [`FEATURES`].
    pub words: &'a [u16],
}

fn hashed(word: &[u8]) -> u16 {
    let mut hasher = FxHasher::default();
    word.iter()
        .for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
    (hasher.finish() >> 48) as u16
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_line_is_read_once_at_any_split() {
        let data = b"1\ta library, the Library\n\n0\tgame\n1\t\n0\tan x-ray\n";
        let whole = Texts::parse(data, 0..data.len()).unwrap();
        assert_eq!(whole.lines, [0, 2, 3, 4]);
        let texts: Vec<_> = whole.iter().collect();
        assert_eq!(texts[0].words[1], texts[0].words[3]);
        assert_ne!(texts[0].words[0], texts[0].words[1]);
        let lengths: Vec<_> = texts.iter().map(|text| text.words.len()).collect();
        assert_eq!(lengths, [4, 1, 0, 3]);
        for cut in 0..=data.len() {
            let parts = [0..cut, cut..data.len()].map(|share| Texts::parse(data, share).unwrap());
            assert_eq!(parts.map(|part| part.lines).concat(), whole.lines, "{cut}");
        }
    }

    #[test]
    fn a_line_without_a_label_is_reported_by_number() {
        for data in ["1\tx\nlibrary\n", "1\tx\n2\ty", "1\tx\n1 y\n"] {
            let error = Texts::parse(data.as_bytes(), 0..data.len()).unwrap_err();
            assert_eq!(error.line, 2);
        }
    }
}

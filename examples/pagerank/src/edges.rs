//! Reads a share of an edge list: lines of two node numbers separated by blanks. Lines that begin with `#` are
//! comments. A line belongs to the share that contains its first byte.

use burst::data::{self, DataError, Part};
use std::ops::Range;

/// The maximum length of a line, in bytes.
const LONGEST: u64 = 4096;

/// A link from one node to another.
pub type Edge = (u32, u32);

/// Why a share could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A line does not consist of two node numbers.
    #[error("`{line}` in {location} is not a line of two node numbers below 4294967295")]
    NoEdge {
        /// The file.
        location: String,
        /// The beginning of the line.
        line: String,
    },
}

/// Reads the edges of a part of the file at `location`.
///
/// # Errors
/// [`Unreadable`], if the file cannot be read or a line is not an edge.
pub fn read(location: &str, part: Part) -> Result<Vec<Edge>, Unreadable> {
    let size = data::size(location)?;
    let share = data::share(size, part);
    if share.is_empty() {
        return Ok(Vec::new());
    }
    // The byte before the share shows whether the share begins with a new line.
    let from = share.start.saturating_sub(1);
    let bytes = data::read(location, from..(share.end + LONGEST).min(size))?;
    let lines = lines_within(&bytes, share.start - from..share.end - from);
    let lines = lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    lines
        .map(|line| {
            parse(line).ok_or_else(|| Unreadable::NoEdge {
                location: location.to_owned(),
                line: String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned(),
            })
        })
        .collect()
}

/// Returns the lines of `bytes` that begin within `share`, which must not be empty.
fn lines_within(bytes: &[u8], share: Range<u64>) -> &[u8] {
    let line_from = |at: u64| {
        let at = at as usize;
        let end_of_line = bytes[at..].iter().position(|&byte| byte == b'\n');
        end_of_line.map_or(bytes.len(), |found| at + found + 1)
    };
    let start = match share.start {
        0 => 0,
        start => line_from(start - 1),
    };
    &bytes[start..line_from(share.end - 1).max(start)]
}

fn parse(line: &[u8]) -> Option<Edge> {
    let (from, rest) = number(line.trim_ascii_start())?;
    let (to, rest) = number(rest.trim_ascii_start())?;
    rest.trim_ascii().is_empty().then_some((from, to))
}

/// Returns the number that `text` begins with, and the text after it. The largest `u32` is rejected, because the
/// number of nodes must fit into a `u32`.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..digits].iter().try_fold(0u32, |value, digit| {
        value.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    });
    let value = value.filter(|&value| digits > 0 && value < u32::MAX)?;
    Some((value, &text[digits..]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_line_is_read_once_at_any_split() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for text in [
            "",
            "\n\n",
            "1 2",
            "# note\n1 2\n3\t4\r\n\n  55   66 \n7 8\n",
            "1 2\n3 4\n55 66\n7 8",
        ] {
            std::fs::write(path, text).unwrap();
            let whole = read(path, Part::WHOLE).unwrap();
            for parts in 2..=text.len() as u32 + 2 {
                let cut: Vec<Edge> = (0..parts)
                    .flat_map(|index| read(path, Part { index, of: parts }).unwrap())
                    .collect();
                assert_eq!(cut, whole, "{text:?} in {parts}");
            }
        }
        assert_eq!(
            read(path, Part::WHOLE).unwrap(),
            [(1, 2), (3, 4), (55, 66), (7, 8)]
        );
    }

    #[test]
    fn invalid_edges_are_quoted_in_the_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for line in ["1", "1 x", "1 2 3", "-1 2", "4294967295 0", "99999999999 0"] {
            std::fs::write(path, format!("0 1\n{line}\n")).unwrap();
            let error = read(path, Part::WHOLE).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
        }
    }
}

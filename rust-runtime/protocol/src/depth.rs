//! Measures how deeply JSON is nested, without recursion and in pieces of any size.

/// Tracks the nesting of JSON that arrives in pieces. For input that is not JSON the result is
/// unspecified.
#[derive(Debug, Default)]
pub struct Depth {
    levels: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Returns whether a complete text is nested at most `limit` levels deep.
    pub fn is_within(limit: usize, text: &[u8]) -> bool {
        Self::default().stays_within(limit, text)
    }

    /// Returns whether the text is still within `limit` after this piece. Must not be called again
    /// once it has returned false.
    pub fn stays_within(&mut self, limit: usize, mut piece: &[u8]) -> bool {
        loop {
            if std::mem::take(&mut self.escaped) {
                piece = piece.get(1..).unwrap_or_default();
            }
            let next = match self.in_string {
                true => piece.iter().position(|byte| matches!(byte, b'"' | b'\\')),
                false => {
                    (piece.iter()).position(|byte| matches!(byte, b'"' | b'[' | b'{' | b']' | b'}'))
                }
            };
            let Some(next) = next else {
                return true;
            };
            match piece[next] {
                b'"' => self.in_string = !self.in_string,
                b'\\' => {
                    self.escaped = true;
                    if next + 1 == piece.len() {
                        return true;
                    }
                }
                b'[' | b'{' if self.levels == limit => return false,
                b'[' | b'{' => self.levels += 1,
                _ => self.levels = self.levels.saturating_sub(1),
            }
            piece = &piece[next + 1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_and_strings_are_not() {
        for (text, depth) in [
            ("7", 0),
            ("[]", 1),
            (r#"{"a":[1,[2]],"b":[[3]]}"#, 3),
            (r#"["[[[","\"[[[","\\",[1]]"#, 2),
        ] {
            assert!(Depth::is_within(depth, text.as_bytes()), "{text}");
            assert!(depth == 0 || !Depth::is_within(depth - 1, text.as_bytes()));
            let mut pieces = Depth::default();
            assert!(text.bytes().all(|byte| pieces.stays_within(depth, &[byte])));
        }
        assert!(!Depth::is_within(256, "[".repeat(1_000_000).as_bytes()));
    }
}

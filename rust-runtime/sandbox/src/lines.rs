//! The lines of a shim's input and output.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// Bytes of a line. A description of a sandbox has some hundred bytes, the endpoints of 4096 packs have more.
const LIMIT: usize = 1 << 20;

/// Writes a line to standard output. Errors are ignored: an invoker that does not read is about to close standard input
/// as well.
pub(crate) fn say(line: &str) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Standard input, with what has been read of it and not yet taken.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    input: BorrowedFd<'a>,
    read: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(input: BorrowedFd<'a>) -> Self {
        Self {
            input,
            read: Vec::new(),
        }
    }

    pub(crate) fn input(&self) -> BorrowedFd<'a> {
        self.input
    }

    /// Takes the next line, if it is complete.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        let rest = self.read.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.read, rest);
        line.pop();
        Some(line)
    }

    /// Reads what is available, or blocks until something is. Returns whether there may be more; a line that is too
    /// long ends the input, too.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(self.input, &mut buffer) {
                Err(Errno::INTR) => {}
                read => {
                    let read = read?;
                    self.read.extend_from_slice(&buffer[..read]);
                    return Ok(read > 0 && self.read.len() <= LIMIT);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn lines_are_read_whole_and_in_order() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader.as_fd());
        writer.write_all(b"one\ntw").unwrap();
        assert!(lines.read().unwrap());
        assert_eq!(lines.next().unwrap(), b"one");
        assert_eq!(lines.next(), None);
        writer.write_all(b"o\n").unwrap();
        assert!(lines.read().unwrap());
        assert_eq!(lines.next().unwrap(), b"two");
        drop(writer);
        assert!(!lines.read().unwrap());
    }

    #[test]
    fn a_line_that_is_too_long_ends_the_input() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader.as_fd());
        for _ in 0..LIMIT / 4096 {
            writer.write_all(&[b'a'; 4096]).unwrap();
            assert!(lines.read().unwrap());
        }
        writer.write_all(b"a").unwrap();
        assert!(!lines.read().unwrap());
        assert_eq!(lines.next(), None);
    }
}

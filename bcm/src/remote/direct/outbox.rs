//! Bytes waiting to be written to a non-blocking connection.

use std::io::{self, ErrorKind, Write};

use socket2::Socket;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes as much as the socket accepts.
    pub(super) fn flush(&mut self, mut stream: &Socket) -> io::Result<()> {
        while let Some(left) = self.bytes.get(self.written..).filter(|it| !it.is_empty()) {
            match stream.write(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => {
                        self.bytes.drain(..self.written);
                        self.written = 0;
                        return Ok(());
                    }
                    _ => return Err(error),
                },
            }
        }
        // Frees the memory, which may have grown large.
        self.clear();
        Ok(())
    }
}

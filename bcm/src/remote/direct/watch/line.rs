//! One connection of the watch: whole notices in and out, without ever blocking.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::pack_id::PackId;
use crate::remote::direct::connection_error::ConnectionError;
use crate::remote::direct::outbox::Outbox;
use crate::remote::direct::socket;
use crate::remote::inbox::check_news;
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Bytes read at a time.
const READ: usize = 4096;
/// The most bytes that may be read but not yet parsed, and queued but not yet written: twice as
/// much as the longest news and a word from each pack.
const MOST: usize = 4 << 20;

/// See the module's documentation. Hangs up when dropped.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) pack: PackId,
    stream: Socket,
    heard: Vec<u8>,
    unsaid: Outbox,
}

/// A header and its payload.
pub(super) type Notice = (Header, Vec<u8>);

impl Line {
    /// A line to a pack, over a connection that has passed the handshake.
    pub(super) fn new(pack: PackId, stream: Socket) -> Result<Self, ConnectionError> {
        socket::prepare(&stream)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            pack,
            stream,
            heard: Vec::new(),
            unsaid: Outbox::default(),
        })
    }

    /// Queues a notice, which leaves with the next [`Line::flush`].
    pub(super) fn say(&mut self, notice: &[u8]) {
        self.unsaid.add(notice);
    }

    /// Whether everything queued has been written.
    pub(super) fn is_flushed(&self) -> bool {
        self.unsaid.is_empty()
    }

    /// Writes as much as the socket accepts. Errors of the connection are reported by reading it.
    pub(super) fn flush(&mut self) {
        if self.unsaid.flush(&self.stream).is_err() {
            self.unsaid.clear();
        }
    }

    /// Returns all notices that have arrived, and, once the line has ended, the reason.
    pub(super) fn hear(&mut self, packs: u32) -> (Vec<Notice>, Option<ConnectionError>) {
        let mut ended = self.read();
        let mut notices = Vec::new();
        let mut at = 0;
        while let Some(bytes) = self.heard.get(at..at + HEADER_SIZE) {
            let (header, length) = match check(bytes, packs) {
                Ok(checked) => checked,
                Err(error) => {
                    ended = Some(error.into());
                    break;
                }
            };
            let begin = at + HEADER_SIZE;
            let Some(payload) = self.heard.get(begin..begin + length) else {
                break;
            };
            notices.push((header, payload.to_vec()));
            at = begin + length;
        }
        self.heard.drain(..at);
        (notices, ended)
    }

    fn read(&mut self) -> Option<ConnectionError> {
        if self.unsaid.len() > MOST {
            return Some(ConnectionError::Unread);
        }
        let mut bytes = [0; READ];
        // The rest is read when this has been parsed.
        while self.heard.len() < MOST {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Some(ConnectionError::NoGoodbye),
                Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return None,
                    _ => return Some(error.into()),
                },
            }
        }
        None
    }
}

/// Decodes the header of a notice about one of `packs` packs, and returns it with the number of
/// bytes that follow.
fn check(bytes: &[u8], packs: u32) -> Result<(Header, usize), WireError> {
    let header = Header::decode(bytes)?;
    match header.kind {
        Kind::Goodbye | Kind::Abort => Ok((header, check_news(&header, packs)?)),
        other => Err(WireError::Unknown {
            field: "kind of news",
            value: other as u64,
        }),
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn line() -> (Line, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        (Line::new(PackId(1), Socket::from(here)).unwrap(), there)
    }

    #[test]
    fn a_peer_that_does_not_read_is_given_up() {
        let (mut line, _there) = line();
        let notice = vec![0; 1 << 20];
        let mut said = 0;
        while line.hear(2).1.is_none() {
            line.say(&notice);
            line.flush();
            said += notice.len();
            assert!(said < 3 * MOST, "all of it is kept");
        }
        assert!(matches!(line.hear(2).1, Some(ConnectionError::Unread)));
        assert!(said > MOST, "{said}");
    }

    #[test]
    fn reading_ahead_is_bounded() {
        let (mut line, mut there) = line();
        there.set_nonblocking(true).unwrap();
        // As far as anybody can tell, the beginning of something longer.
        let bytes = vec![0; 1 << 16];
        let mut sent = 0;
        while let Ok(count) = there.write(&bytes) {
            sent += count;
            let before = line.heard.len();
            assert!(line.read().is_none());
            assert!(line.heard.len() <= MOST + READ, "{}", line.heard.len());
            if line.heard.len() == before {
                break;
            }
        }
        assert!(sent >= MOST, "{sent}");
    }
}

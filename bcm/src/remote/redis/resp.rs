//! A connection to the server, speaking RESP2, and of RESP3 what a connection needs that
//! [listens](super::presence).
//!
//! Small on purpose, and its own because payloads are written from where they are and read to
//! where they belong, and because every wait asks whether to go on; a general client copies both
//! ways and waits for a fixed time.

use std::io::{ErrorKind, IoSlice};

use super::resp_error::RespError;
use super::server::{Hook, Server, Stream};
use crate::error::Error;

/// Longest line the server may send; bulk strings are not lines.
const LONGEST_LINE: usize = 64 << 10;
/// Most elements or bytes of a reply that is kept; payloads are not.
const LARGEST_REPLY: usize = 16 << 20;
const READ_AHEAD: usize = 16 << 10;
/// How deep a reply may be nested: what a server says of its modules to `HELLO` is.
const DEPTH: u32 = 5;

/// Asked while waiting; an error ends the wait.
pub(super) type GoOn<'a> = &'a mut dyn FnMut() -> Result<(), Error>;

/// A reply, kept whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Status,
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
    Nil,
}

/// One connection. After an error other than [`RespError::Refused`] it is of no use.
#[derive(Debug)]
pub(super) struct Client {
    stream: Stream,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    /// It speaks RESP3 and listens on a channel: of no use to who expects another.
    pub(super) listens: bool,
}

impl Client {
    /// A connection nothing was said on yet.
    pub(super) fn over(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; READ_AHEAD].into(),
            start: 0,
            end: 0,
            listens: false,
        }
    }

    /// Connects and logs in.
    pub(super) fn connect(server: &Server, go_on: GoOn<'_>) -> Result<Self, RespError> {
        let mut client = Self::over(server.open().map_err(RespError::Connect)?);
        client.log_in(server, go_on)?;
        Ok(client)
    }

    /// Becomes the user the server's address names, in its database.
    pub(super) fn log_in(&mut self, server: &Server, go_on: GoOn<'_>) -> Result<(), RespError> {
        let mut replies = 0;
        if let Some(password) = server.password() {
            let password: &[u8] = password.as_bytes();
            match server.user() {
                Some(user) => {
                    self.command(&[&[b"AUTH"], &[user.as_bytes()], &[password]], go_on)?;
                }
                None => self.command(&[&[b"AUTH"], &[password]], go_on)?,
            }
            replies += 1;
        }
        if server.database() != 0 {
            let database = server.database().to_string();
            self.command(&[&[b"SELECT"], &[database.as_bytes()]], go_on)?;
            replies += 1;
        }
        self.command(&[&[b"PING"]], go_on)?;
        self.expect(replies + 1, go_on)
    }

    /// Asks whether the server is still there.
    pub(super) fn ping(&mut self, go_on: GoOn<'_>) -> Result<(), RespError> {
        self.command(&[&[b"PING"]], go_on)?;
        self.expect(1, go_on)
    }

    pub(super) fn hook(&self) -> Result<Hook, RespError> {
        Ok(self.stream.hook()?)
    }

    /// Writes a command. An argument is given in parts, which are not copied together.
    pub(super) fn command(
        &mut self,
        arguments: &[&[&[u8]]],
        go_on: GoOn<'_>,
    ) -> Result<(), RespError> {
        let mut lines = Vec::with_capacity(arguments.len());
        for (place, argument) in arguments.iter().enumerate() {
            let length: usize = argument.iter().map(|part| part.len()).sum();
            lines.push(match place {
                0 => format!("*{}\r\n${length}\r\n", arguments.len()),
                _ => format!("\r\n${length}\r\n"),
            });
        }
        let mut slices = Vec::with_capacity(3 * arguments.len() + 1);
        for (line, argument) in lines.iter().zip(arguments) {
            slices.push(IoSlice::new(line.as_bytes()));
            slices.extend(argument.iter().map(|part| IoSlice::new(part)));
        }
        slices.push(IoSlice::new(b"\r\n"));
        let mut left = &mut slices[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let written = self.stream.write_vectored(left);
            match done(written, go_on)? {
                Some(0) => return Err(RespError::HungUp),
                Some(written) => IoSlice::advance_slices(&mut left, written),
                None => {}
            }
        }
        Ok(())
    }

    /// Reads a whole reply, past what others say on channels.
    pub(super) fn reply(&mut self, go_on: GoOn<'_>) -> Result<Reply, RespError> {
        loop {
            let reply = self.nested_reply(DEPTH, go_on)?;
            let kind = match &reply {
                Reply::Array(parts) if self.listens => parts.first(),
                _ => None,
            };
            if !matches!(kind, Some(Reply::Bulk(kind)) if kind == b"message") {
                return Ok(reply);
            }
        }
    }

    fn nested_reply(&mut self, depth: u32, go_on: GoOn<'_>) -> Result<Reply, RespError> {
        let (kind, line) = self.line(go_on)?;
        Ok(match kind {
            b'+' => Reply::Status,
            b'-' => Reply::Error(line),
            b':' => Reply::Integer(line.parse().map_err(|_| RespError::Protocol)?),
            b'$' => match length(&line)? {
                None => Reply::Nil,
                Some(length) if length > LARGEST_REPLY => return Err(RespError::Protocol),
                Some(length) => {
                    let mut bytes = vec![0; length];
                    self.bulk(&mut bytes, go_on)?;
                    self.end_bulk(go_on)?;
                    Reply::Bulk(bytes)
                }
            },
            b'_' => Reply::Nil,
            b'*' | b'>' | b'~' | b'%' => match length(&line)? {
                None => Reply::Nil,
                Some(length) if length > LARGEST_REPLY || depth == 0 => {
                    return Err(RespError::Protocol);
                }
                Some(length) => {
                    // A map is an array of keys and values.
                    let length = if kind == b'%' { 2 * length } else { length };
                    Reply::Array(
                        (0..length)
                            .map(|_| self.nested_reply(depth - 1, go_on))
                            .collect::<Result<_, _>>()?,
                    )
                }
            },
            _ => return Err(RespError::Protocol),
        })
    }

    /// Reads the beginning of an array or a bulk string, `None` for nil. What follows is read
    /// with [`Client::bulk`] and [`Client::end_bulk`].
    pub(super) fn begin(&mut self, kind: u8, go_on: GoOn<'_>) -> Result<Option<usize>, RespError> {
        let (found, line) = self.line(go_on)?;
        match found {
            b'-' => Err(RespError::Refused(line)),
            // Nil is said by either kind.
            b'$' | b'*' if line == "-1" => Ok(None),
            _ if found == kind => length(&line),
            _ => Err(RespError::Protocol),
        }
    }

    /// Reads the next bytes of a bulk string straight to where they belong.
    pub(super) fn bulk(&mut self, mut place: &mut [u8], go_on: GoOn<'_>) -> Result<(), RespError> {
        while !place.is_empty() {
            if self.start < self.end {
                let count = place.len().min(self.end - self.start);
                let (now, later) = place.split_at_mut(count);
                now.copy_from_slice(&self.input[self.start..self.start + count]);
                self.start += count;
                place = later;
            } else if place.len() >= READ_AHEAD {
                match done(self.stream.read(place), go_on)? {
                    Some(0) => return Err(RespError::HungUp),
                    Some(count) => place = &mut place[count..],
                    None => {}
                }
            } else {
                self.fill(go_on)?;
            }
        }
        Ok(())
    }

    /// Drops the next bytes of a bulk string.
    pub(super) fn skip(&mut self, mut count: usize, go_on: GoOn<'_>) -> Result<(), RespError> {
        let mut hole = [0; 4096];
        while count > 0 {
            let now = count.min(hole.len());
            self.bulk(&mut hole[..now], go_on)?;
            count -= now;
        }
        Ok(())
    }

    /// Reads the end of a bulk string.
    pub(super) fn end_bulk(&mut self, go_on: GoOn<'_>) -> Result<(), RespError> {
        let mut end = [0; 2];
        self.bulk(&mut end, go_on)?;
        if end == *b"\r\n" {
            Ok(())
        } else {
            Err(RespError::Protocol)
        }
    }

    fn line(&mut self, go_on: GoOn<'_>) -> Result<(u8, String), RespError> {
        let mut line = Vec::new();
        loop {
            let buffered = &self.input[self.start..self.end];
            match buffered.iter().position(|&byte| byte == b'\n') {
                Some(place) => {
                    line.extend_from_slice(&buffered[..place]);
                    self.start += place + 1;
                    break;
                }
                None => {
                    line.extend_from_slice(buffered);
                    self.start = self.end;
                    if line.len() > LONGEST_LINE {
                        return Err(RespError::Protocol);
                    }
                    self.fill(go_on)?;
                }
            }
        }
        match line.as_slice() {
            [kind, text @ .., b'\r'] => Ok((*kind, String::from_utf8_lossy(text).into_owned())),
            _ => Err(RespError::Protocol),
        }
    }

    fn fill(&mut self, go_on: GoOn<'_>) -> Result<(), RespError> {
        loop {
            match done(self.stream.read(&mut self.input), go_on)? {
                Some(0) => return Err(RespError::HungUp),
                Some(count) => {
                    (self.start, self.end) = (0, count);
                    return Ok(());
                }
                None => {}
            }
        }
    }
}

/// What a system call has done: `None` when it only passed time.
fn done(result: std::io::Result<usize>, go_on: GoOn<'_>) -> Result<Option<usize>, RespError> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) => match error.kind() {
            ErrorKind::Interrupted => Ok(None),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                go_on().map_err(RespError::GivenUp)?;
                Ok(None)
            }
            _ => Err(RespError::Broken(error)),
        },
    }
}

fn length(line: &str) -> Result<Option<usize>, RespError> {
    if line == "-1" {
        return Ok(None);
    }
    line.parse().map(Some).map_err(|_| RespError::Protocol)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn client() -> (Client, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Client::over(Stream::Unix(ours)), theirs)
    }

    #[test]
    fn commands_and_replies_have_the_protocols_form() {
        let (mut client, mut server) = client();
        client
            .command(&[&[b"SET"], &[b"key"], &[b"he", b"", b"llo"]], &mut || {
                Ok(())
            })
            .unwrap();
        let expected = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nhello\r\n";
        let mut written = vec![0; expected.len()];
        server.read_exact(&mut written).unwrap();
        assert_eq!(written, expected);

        server
            .write_all(b"+OK\r\n:7\r\n$-1\r\n*2\r\n$1\r\na\r\n*1\r\n$0\r\n\r\n-ERR no\r\n")
            .unwrap();
        let mut next = || client.reply(&mut || Ok(())).unwrap();
        assert_eq!(next(), Reply::Status);
        assert_eq!(next(), Reply::Integer(7));
        assert_eq!(next(), Reply::Nil);
        let inner = Reply::Array(vec![Reply::Bulk(vec![])]);
        assert_eq!(
            next(),
            Reply::Array(vec![Reply::Bulk(b"a".to_vec()), inner])
        );
        assert_eq!(next(), Reply::Error("ERR no".to_owned()));
    }

    #[test]
    fn who_listens_reads_replies_past_what_is_said() {
        let (mut client, mut server) = client();
        client.listens = true;
        let message = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n?\r\n";
        let map = "%1\r\n$5\r\nproto\r\n:3\r\n";
        let said = format!("{map}{message}_\r\n{message}{message}:1\r\n");
        server.write_all(said.as_bytes()).unwrap();
        let mut next = || client.reply(&mut || Ok(())).unwrap();
        let proto = Reply::Bulk(b"proto".to_vec());
        assert_eq!(next(), Reply::Array(vec![proto, Reply::Integer(3)]));
        assert_eq!(next(), Reply::Nil);
        assert_eq!(next(), Reply::Integer(1));
    }

    #[test]
    fn anything_else_is_an_error() {
        for wrong in [
            "hello\r\n",
            "$99999999999\r\n",
            ":x\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "\r\n",
        ] {
            let (mut client, mut server) = client();
            server.write_all(wrong.as_bytes()).unwrap();
            drop(server);
            assert!(client.reply(&mut || Ok(())).is_err(), "{wrong:?}");
        }
    }
}

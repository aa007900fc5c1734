//! A connection to the server, speaking RESP2, and as much of RESP3 as a
//! [subscribed](super::presence) connection needs.
//!
//! Small on purpose, and written for this use because payloads are written from where they are and
//! read to their place, and because every wait checks whether to continue; a general client copies
//! in both directions and waits for a fixed time.

use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read};

use super::resp_error::RespError;
use super::server::{Hook, Server, Stream};
use crate::error::Error;

/// The longest line the server may send; bulk strings are not lines.
const LONGEST_LINE: usize = 64 << 10;
/// The most elements or bytes of a reply that is kept; payloads are not kept.
const LARGEST_REPLY: usize = 16 << 20;
const READ_AHEAD: usize = 16 << 10;
/// How deep a reply may be nested: the server's list of modules in the reply to `HELLO` is.
const DEPTH: u32 = 5;

/// Called while waiting; an error ends the wait.
pub(super) type Interrupt<'a> = &'a mut dyn FnMut() -> Result<(), Error>;

/// A reply, kept completely.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Status,
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
    Nil,
}

impl Reply {
    /// The elements of a reply that must be an array.
    pub(super) fn array(self) -> Result<Vec<Self>, RespError> {
        match self {
            Self::Array(elements) => Ok(elements),
            _ => Err(RespError::Protocol),
        }
    }
}

/// One connection. After an error other than [`RespError::Refused`] it is unusable.
#[derive(Debug)]
pub(super) struct Client {
    stream: BufReader<Stream>,
    /// Whether it speaks RESP3 and is subscribed to a channel: unusable for callers that expect an
    /// ordinary connection.
    pub(super) listens: bool,
}

impl Client {
    /// A connection on which nothing was sent yet.
    pub(super) fn over(stream: Stream) -> Self {
        Self {
            stream: BufReader::with_capacity(READ_AHEAD, stream),
            listens: false,
        }
    }

    /// Connects and logs in.
    pub(super) fn connect(server: &Server, interrupt: Interrupt<'_>) -> Result<Self, RespError> {
        let mut client = Self::over(server.open().map_err(RespError::Connect)?);
        client.exchange(interrupt).log_in(server)?;
        Ok(client)
    }

    /// Starts an exchange on it, which calls `interrupt` while waiting.
    pub(super) fn exchange<'a>(&'a mut self, interrupt: Interrupt<'a>) -> Exchange<'a> {
        Exchange {
            client: self,
            interrupt,
        }
    }

    pub(super) fn hook(&self) -> Result<Hook, RespError> {
        Ok(self.stream.get_ref().hook()?)
    }
}

/// Commands and replies on a connection.
pub(super) struct Exchange<'a> {
    pub(super) client: &'a mut Client,
    interrupt: Interrupt<'a>,
}

impl Exchange<'_> {
    /// Logs in as the user that the server's URI names, and selects its database.
    pub(super) fn log_in(&mut self, server: &Server) -> Result<(), RespError> {
        let mut replies = 0;
        if let Some(password) = server.password() {
            let password: &[u8] = password.as_bytes();
            match server.user() {
                Some(user) => self.command(&[&[b"AUTH"], &[user.as_bytes()], &[password]])?,
                None => self.command(&[&[b"AUTH"], &[password]])?,
            }
            replies += 1;
        }
        if server.database() != 0 {
            let database = server.database().to_string();
            self.command(&[&[b"SELECT"], &[database.as_bytes()]])?;
            replies += 1;
        }
        self.command(&[&[b"PING"]])?;
        self.expect(replies + 1)
    }

    /// Sends a command and reads the reply.
    pub(super) fn request(&mut self, arguments: &[&[&[u8]]]) -> Result<Reply, RespError> {
        self.command(arguments)?;
        self.reply()
    }

    /// Writes a command. Arguments are passed in parts, which are not copied together.
    pub(super) fn command(&mut self, arguments: &[&[&[u8]]]) -> Result<(), RespError> {
        let mut lines = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let length: usize = argument.iter().map(|part| part.len()).sum();
            lines.push(match index {
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
            let written = self.client.stream.get_mut().write_vectored(left);
            IoSlice::advance_slices(&mut left, done(written, self.interrupt)?);
        }
        Ok(())
    }

    /// Reads a whole reply, skipping what others publish on channels.
    pub(super) fn reply(&mut self) -> Result<Reply, RespError> {
        loop {
            let reply = self.nested_reply(DEPTH)?;
            let kind = match &reply {
                Reply::Array(parts) if self.client.listens => parts.first(),
                _ => None,
            };
            if !matches!(kind, Some(Reply::Bulk(kind)) if kind == b"message") {
                return Ok(reply);
            }
        }
    }

    /// Reads this many replies, and fails with the first error among them.
    pub(super) fn expect(&mut self, replies: usize) -> Result<(), RespError> {
        let mut refused = None;
        for _ in 0..replies {
            match self.reply() {
                Err(RespError::Refused(reason)) => {
                    refused.get_or_insert(reason);
                }
                answer => drop(answer?),
            }
        }
        refused.map_or(Ok(()), |reason| Err(RespError::Refused(reason)))
    }

    /// Like [`Exchange::request`]; `None` if the server refuses.
    pub(super) fn try_request(
        &mut self,
        arguments: &[&[&[u8]]],
    ) -> Result<Option<Reply>, RespError> {
        match self.request(arguments) {
            Err(RespError::Refused(_)) => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn nested_reply(&mut self, depth: u32) -> Result<Reply, RespError> {
        let (kind, line) = self.line()?;
        Ok(match kind {
            b'+' => Reply::Status,
            // Errors are recognized only at the top level, not inside another reply.
            b'-' if depth == DEPTH => return Err(RespError::Refused(line)),
            b':' => Reply::Integer(line.parse().map_err(|_| RespError::Protocol)?),
            b'$' => match length(&line)? {
                None => Reply::Nil,
                Some(length) if length > LARGEST_REPLY => return Err(RespError::Protocol),
                Some(length) => {
                    let mut bytes = vec![0; length];
                    self.rest(&mut bytes)?;
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
                            .map(|_| self.nested_reply(depth - 1))
                            .collect::<Result<_, _>>()?,
                    )
                }
            },
            _ => return Err(RespError::Protocol),
        })
    }

    /// Reads the beginning of an array or a bulk string; `None` for nil. The rest is read with
    /// [`Exchange::bulk`], [`Exchange::rest`] or [`Exchange::skip`].
    pub(super) fn begin(&mut self, kind: u8) -> Result<Option<usize>, RespError> {
        let (found, line) = self.line()?;
        match found {
            b'-' => Err(RespError::Refused(line)),
            // Either kind can express nil.
            b'$' | b'*' if line == "-1" => Ok(None),
            _ if found == kind => length(&line),
            _ => Err(RespError::Protocol),
        }
    }

    /// Reads the next bytes of a bulk string straight to their place.
    pub(super) fn bulk(&mut self, mut buffer: &mut [u8]) -> Result<(), RespError> {
        while !buffer.is_empty() {
            let count = done(self.client.stream.read(buffer), self.interrupt)?;
            buffer = &mut buffer[count..];
        }
        Ok(())
    }

    /// Reads the last bytes of a bulk string, and its end.
    pub(super) fn rest(&mut self, buffer: &mut [u8]) -> Result<(), RespError> {
        self.bulk(buffer)?;
        let mut end = [0; 2];
        self.bulk(&mut end)?;
        match &end {
            b"\r\n" => Ok(()),
            _ => Err(RespError::Protocol),
        }
    }

    /// Skips the last bytes of a bulk string, and its end.
    pub(super) fn skip(&mut self, mut count: usize) -> Result<(), RespError> {
        let mut hole = [0; 4096];
        while count > hole.len() {
            self.bulk(&mut hole)?;
            count -= hole.len();
        }
        self.rest(&mut hole[..count])
    }

    fn line(&mut self) -> Result<(u8, String), RespError> {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            if line.len() > LONGEST_LINE {
                return Err(RespError::Protocol);
            }
            let stream = &mut self.client.stream;
            let count = done(stream.fill_buf().map(<[u8]>::len), self.interrupt)?;
            let buffered = &stream.buffer()[..count];
            let end = buffered.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(count, |at| at + 1);
            line.extend_from_slice(&buffered[..taken]);
            stream.consume(taken);
        }
        match line.as_slice() {
            [kind, text @ .., b'\r', b'\n'] => {
                Ok((*kind, String::from_utf8_lossy(text).into_owned()))
            }
            _ => Err(RespError::Protocol),
        }
    }
}

/// How much a system call has done: nothing if it was interrupted or only timed out.
fn done(result: std::io::Result<usize>, interrupt: Interrupt<'_>) -> Result<usize, RespError> {
    match result {
        Ok(0) => Err(RespError::HungUp),
        Ok(count) => Ok(count),
        Err(error) => match error.kind() {
            ErrorKind::Interrupted => Ok(0),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                interrupt().map(|()| 0).map_err(RespError::GivenUp)
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
        (Client::over(Stream::Plain(ours.into())), theirs)
    }

    #[test]
    fn commands_and_replies_follow_the_protocol() {
        let (mut client, mut server) = client();
        let interrupt: Interrupt<'_> = &mut || Ok(());
        let mut exchange = client.exchange(interrupt);
        exchange
            .command(&[&[b"SET"], &[b"key"], &[b"he", b"", b"llo"]])
            .unwrap();
        let expected = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nhello\r\n";
        let mut written = vec![0; expected.len()];
        server.read_exact(&mut written).unwrap();
        assert_eq!(written, expected);

        server
            .write_all(b"+OK\r\n:7\r\n$-1\r\n*2\r\n$1\r\na\r\n*1\r\n$0\r\n\r\n-ERR no\r\n")
            .unwrap();
        let mut next = || exchange.reply().unwrap();
        assert_eq!(next(), Reply::Status);
        assert_eq!(next(), Reply::Integer(7));
        assert_eq!(next(), Reply::Nil);
        let inner = Reply::Array(vec![Reply::Bulk(vec![])]);
        assert_eq!(
            next(),
            Reply::Array(vec![Reply::Bulk(b"a".to_vec()), inner])
        );
        assert!(matches!(exchange.reply(), Err(RespError::Refused(reason)) if reason == "ERR no"));
    }

    #[test]
    fn a_subscribed_client_finds_replies_between_messages() {
        let (mut client, mut server) = client();
        client.listens = true;
        let message = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n?\r\n";
        let map = "%1\r\n$5\r\nproto\r\n:3\r\n";
        let said = format!("{map}{message}_\r\n{message}{message}:1\r\n");
        server.write_all(said.as_bytes()).unwrap();
        let mut next = || client.exchange(&mut || Ok(())).reply().unwrap();
        let proto = Reply::Bulk(b"proto".to_vec());
        assert_eq!(next(), Reply::Array(vec![proto, Reply::Integer(3)]));
        assert_eq!(next(), Reply::Nil);
        assert_eq!(next(), Reply::Integer(1));
    }

    #[test]
    fn malformed_replies_are_errors() {
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
            assert!(
                client.exchange(&mut || Ok(())).reply().is_err(),
                "{wrong:?}"
            );
        }
    }
}

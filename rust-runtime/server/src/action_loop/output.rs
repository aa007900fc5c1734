//! The output of a process on one of its pipes, logged for its run.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};

use burst_protocol::LogStream;
use rustix::event::{PollFd, PollFlags};

/// Lines without an end are logged in pieces of this many bytes.
pub(super) const PIECE: usize = 64 * 1024;

/// How often a pipe is read at most to empty it.
pub(super) const BOUND: u32 = 64;

/// Logs what an action has written to a stream.
pub(super) type Log<'a> = &'a mut dyn FnMut(LogStream, String) -> io::Result<()>;

pub(super) struct Output {
    stream: LogStream,
    pipe: Option<File>,
    rest: Vec<u8>,
}

impl Output {
    pub(super) fn new(stream: LogStream, pipe: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            stream,
            pipe: Some(File::from(pipe)),
            rest: Vec::new(),
        })
    }

    /// Returns what to poll for more output; none at the end of the pipe.
    pub(super) fn poll(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
    }

    /// Reads once, without waiting, and logs the complete lines. Returns whether to read again.
    pub(super) fn read(&mut self, log: Log<'_>) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(false);
        };
        let mut bytes = [0; PIECE];
        match pipe.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Ok(length @ 1..) => self.rest.extend_from_slice(&bytes[..length]),
            _ => self.pipe = None,
        }
        let whole = match self.rest.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => end,
            None if self.rest.len() > PIECE => self.rest.len() - 1,
            None => return Ok(self.pipe.is_some()),
        };
        let mut said: Vec<_> = self.rest.drain(..=whole).collect();
        said.pop_if(|byte| *byte == b'\n');
        log(self.stream, String::from_utf8_lossy(&said).into_owned())?;
        Ok(self.pipe.is_some())
    }

    /// Logs everything that is available now. Bounded, as processes that the action has started may
    /// write for ever.
    pub(super) fn finish(&mut self, log: Log<'_>) -> io::Result<()> {
        for _ in 0..BOUND {
            if !self.read(log)? {
                break;
            }
        }
        if self.rest.is_empty() {
            return Ok(());
        }
        let rest = std::mem::take(&mut self.rest);
        log(self.stream, String::from_utf8_lossy(&rest).into_owned())
    }
}

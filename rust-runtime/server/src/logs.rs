//! The output that the program's process writes to its pipes, apart from that of its workers.
//!
//! The SDK turns output of worker threads into events; what still comes through the pipes is written by other threads,
//! child processes, or code inside the C library, and is logged for the pack.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use burst_protocol::{LINE, LINE_COST, LogStream};
use tokio::net::unix::pipe::Receiver;

use crate::limits;

/// The line with which OpenWhisk's own runtimes end the log of a run; it is not part of the log.
pub(crate) const SENTINEL: &str = "XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX";

/// One of the program's output pipes, cut into lines.
pub(crate) struct Pipe {
    stream: LogStream,
    /// None once the other end is closed.
    descriptor: Option<Receiver>,
    partial: Vec<u8>,
    lines: Vec<String>,
    /// The end of the output, kept even for a program that never ran a flare.
    tail: Vec<u8>,
}

/// Both of a program's pipes.
pub(crate) struct Pipes {
    pub(crate) stdout: Pipe,
    pub(crate) stderr: Pipe,
}

impl Pipes {
    /// Waits until there is something to read, and reads it. Cancel safe. Never returns once both are closed.
    pub(crate) async fn fill(&mut self) {
        // If both are ready it picks one at random, so that a flood on one cannot starve the other.
        tokio::select! {
            () = self.stdout.fill() => {}
            () = self.stderr.fill() => {}
        }
    }

    pub(crate) fn are_open(&self) -> bool {
        self.stdout.is_open() || self.stderr.is_open()
    }

    /// Discards the output so far, as another flare begins.
    pub(crate) fn reset(&mut self) {
        self.stdout.reset();
        self.stderr.reset();
    }

    /// Reads the rest of the output, without waiting, as no more will follow.
    pub(crate) fn finish(&mut self) {
        for pipe in [&mut self.stdout, &mut self.stderr] {
            pipe.drain();
            pipe.finish();
        }
    }

    /// Returns the complete lines since the last call.
    pub(crate) fn lines(&mut self) -> Vec<(LogStream, String)> {
        let pipes = [&mut self.stdout, &mut self.stderr].into_iter();
        pipes
            .flat_map(|pipe| {
                let stream = pipe.stream();
                pipe.lines().map(move |line| (stream, line))
            })
            .collect()
    }
}

impl Pipe {
    pub(crate) fn new(stream: LogStream, descriptor: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stream,
            descriptor: Some(Receiver::from_owned_fd(descriptor)?),
            partial: Vec::new(),
            lines: Vec::new(),
            tail: Vec::new(),
        })
    }

    pub(crate) fn stream(&self) -> LogStream {
        self.stream
    }

    pub(crate) fn is_open(&self) -> bool {
        self.descriptor.is_some()
    }

    /// Waits until there is something to read, and reads it. Cancel safe. Never returns once the pipe is closed.
    pub(crate) async fn fill(&mut self) {
        let Some(descriptor) = &self.descriptor else {
            return std::future::pending().await;
        };
        let mut buffer = [0; 16 * 1024];
        let read = match descriptor
            .readable()
            .await
            .and_then(|()| descriptor.try_read(&mut buffer))
        {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            read => read,
        };
        self.take(read.map(|length| &buffer[..length]));
    }

    /// Reads what has arrived, without waiting.
    pub(crate) fn drain(&mut self) {
        let mut buffer = [0; 16 * 1024];
        // Bounded: another process that holds the other end must not keep the flare from ending.
        for _ in 0..64 {
            let Some(descriptor) = &self.descriptor else {
                return;
            };
            match read_now(descriptor, &mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                read => self.take(read.map(|length| &buffer[..length])),
            }
        }
    }

    /// Discards the output so far, as another flare begins.
    pub(crate) fn reset(&mut self) {
        self.drain();
        self.partial.clear();
        self.lines.clear();
    }

    /// Returns the complete lines since the last call. They are not bounded here, so they must be taken each time that
    /// something was read.
    pub(crate) fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        std::mem::take(&mut self.lines).into_iter()
    }

    /// Discards the oldest lines, so that the others cost no more than this.
    pub(crate) fn keep_last(&mut self, limit: usize) {
        let mut cost = 0;
        let kept = self.lines.iter().rev().take_while(|line| {
            cost += LINE_COST + line.len();
            cost <= limit
        });
        let surplus = self.lines.len() - kept.count();
        self.lines.drain(..surplus);
    }

    /// Makes a line of output that has no line feed.
    pub(crate) fn finish(&mut self) {
        if !self.partial.is_empty() {
            self.line();
        }
    }

    /// Returns the end of the output.
    pub(crate) fn tail(&self) -> String {
        String::from_utf8_lossy(&self.tail).trim().to_owned()
    }

    fn take(&mut self, read: io::Result<&[u8]>) {
        let Ok(bytes @ [_, ..]) = read else {
            self.descriptor = None;
            self.finish();
            return;
        };
        self.tail.extend_from_slice(bytes);
        let surplus = self.tail.len().saturating_sub(limits::TAIL);
        self.tail.drain(..surplus);
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            for piece in piece.chunks(LINE) {
                if self.partial.len() + piece.len() > LINE {
                    self.line();
                }
                let text = piece.strip_suffix(b"\n");
                self.partial.extend_from_slice(text.unwrap_or(piece));
                if text.is_some() {
                    self.line();
                }
            }
        }
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        if line == SENTINEL.as_bytes() {
            return;
        }
        self.lines.push(String::from_utf8_lossy(&line).into_owned());
    }
}

/// Reads without the event loop, which may not have polled the descriptor since it was written to. Does not block.
pub(crate) fn read_now(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(descriptor, buffer)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    async fn lines_of(bytes: &[u8]) -> Vec<String> {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut pipe = Pipe::new(LogStream::Stdout, reader.into()).unwrap();
        let bytes = bytes.to_owned();
        let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
        while pipe.is_open() {
            pipe.fill().await;
        }
        writing.join().unwrap();
        pipe.lines().collect()
    }

    #[tokio::test]
    async fn lines_are_split_and_cut() {
        assert_eq!(
            lines_of(b"one\ntw\xff\n\nlast").await,
            ["one", "tw\u{fffd}", "", "last"]
        );
        let marked = format!("one\n{SENTINEL}\n");
        assert_eq!(lines_of(marked.as_bytes()).await, ["one"]);
        let long = lines_of(&[b'x'; LINE + 1]).await;
        assert_eq!(long.iter().map(String::len).collect::<Vec<_>>(), [LINE, 1]);
    }

    /// Makes a pipe that is flooded with lines of this size for as long as it is read.
    fn flooded(stream: LogStream, piece: usize) -> Pipe {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut bytes = vec![b'x'; piece];
        bytes[piece - 1] = b'\n';
        std::thread::spawn(move || while writer.write_all(&bytes).is_ok() {});
        Pipe::new(stream, reader.into()).unwrap()
    }

    #[tokio::test]
    async fn a_flood_on_one_pipe_does_not_starve_the_other() {
        for (loud, other) in [
            (1, 64 * 1024),
            (64 * 1024, 1),
            (64 * 1024, 64 * 1024),
            (1, 1),
        ] {
            let mut pipes = Pipes {
                stdout: flooded(LogStream::Stdout, loud),
                stderr: flooded(LogStream::Stderr, other),
            };
            let mut heard = [0, 0];
            for _ in 0..1000 {
                pipes.fill().await;
                for (stream, _) in pipes.lines() {
                    heard[usize::from(stream == LogStream::Stderr)] += 1;
                }
            }
            assert!(
                heard.iter().all(|&lines| lines > 0),
                "{loud} {other}: {heard:?}"
            );
        }
    }

    #[tokio::test]
    async fn draining_reads_available_lines_without_waiting() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut pipe = Pipe::new(LogStream::Stderr, reader.into()).unwrap();
        pipe.drain();
        writer.write_all(b"here\nnot").unwrap();
        pipe.drain();
        assert_eq!(pipe.lines().collect::<Vec<_>>(), ["here"]);
        assert_eq!(pipe.tail(), "here\nnot");
        pipe.reset();
        drop(writer);
        pipe.drain();
        assert!(!pipe.is_open());
        assert_eq!(pipe.lines().count(), 0);
    }
}

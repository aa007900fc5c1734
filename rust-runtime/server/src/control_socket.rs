//! The runtime's end of the control socket: frames in, commands out, without blocking.

use std::io;

use burst_protocol::frame;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{Decoder, LengthDelimitedCodec};

use crate::logs::read_now;
use crate::violation::ProtocolViolation;

/// Frames from the program.
pub(crate) struct FrameReader {
    socket: OwnedReadHalf,
    decoder: LengthDelimitedCodec,
    buffer: BytesMut,
    /// Whether the program has closed its end.
    closed: bool,
}

/// Frames to the program.
pub(crate) struct FrameWriter {
    socket: OwnedWriteHalf,
    buffer: BytesMut,
}

pub(crate) fn split(socket: UnixStream) -> (FrameReader, FrameWriter) {
    let (read, write) = socket.into_split();
    (
        FrameReader {
            socket: read,
            decoder: frame::decoder(frame::EVENT_LIMIT),
            // Allocated on use: most lanes of a program with many are seldom used.
            buffer: BytesMut::new(),
            closed: false,
        },
        FrameWriter {
            socket: write,
            buffer: BytesMut::new(),
        },
    )
}

impl FrameReader {
    /// Waits for bytes and reads them; `false` at the end of the stream. Cancel safe.
    pub(crate) async fn fill(&mut self) -> io::Result<bool> {
        self.buffer.reserve(64 * 1024);
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }

    /// Reads what has arrived, without waiting: the event loop may not have polled the socket since
    /// the program last wrote to it, for example before it ended.
    pub(crate) fn drain(&mut self) {
        let mut bytes = [0; 16 * 1024];
        // More than a socket can hold.
        for _ in 0..256 {
            match read_now(self.socket.as_ref(), &mut bytes) {
                Ok(0) => {
                    self.closed = true;
                    return;
                }
                Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
                Err(_) => return,
            }
        }
    }

    /// Returns whether the socket was found closed when it was [drained](Self::drain).
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Releases the memory that a large event has taken, as none is expected for a while.
    pub(crate) fn rest(&mut self) {
        shrink(&mut self.buffer);
    }

    /// Returns whether everything that was read has been consumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Returns whether the bytes that were read end within a frame, so that nothing that follows
    /// could be understood.
    pub(crate) fn is_cut_short(&self) -> bool {
        let (mut decoder, mut rest) = (self.decoder.clone(), self.buffer.clone());
        while let Ok(Some(_)) = decoder.decode(&mut rest) {}
        !rest.is_empty()
    }

    /// Returns the next message, if it is complete. A message that is too large is an error.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, ProtocolViolation> {
        let frame = self.decoder.decode(&mut self.buffer);
        let frame = frame.map_err(|_| ProtocolViolation::TooLong)?;
        Ok(frame.map(|mut frame| {
            frame.advance(frame::HEADER);
            frame.freeze()
        }))
    }
}

impl FrameWriter {
    /// Queues a command; [`flush`](Self::flush) sends it.
    pub(crate) fn queue(&mut self, command: &impl Serialize) -> serde_json::Result<()> {
        let start = self.buffer.len();
        self.buffer.put_bytes(0, frame::HEADER);
        serde_json::to_writer((&mut self.buffer).writer(), command)?;
        frame::seal(&mut self.buffer[start..]);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Releases the memory that a large command has taken, as none will be sent for a while.
    pub(crate) fn rest(&mut self) {
        shrink(&mut self.buffer);
    }

    /// Sends some of the queued bytes. Cancel safe.
    pub(crate) async fn flush(&mut self) {
        if self.socket.write_buf(&mut self.buffer).await.is_err() {
            // The program has exited, which is noticed in other ways.
            self.buffer.clear();
        }
    }
}

/// The capacity that an empty buffer keeps, in bytes.
const KEPT: usize = 64 * 1024;

fn shrink(buffer: &mut BytesMut) {
    if buffer.is_empty() && buffer.capacity() > KEPT {
        *buffer = BytesMut::new();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use burst_protocol::Command;

    use super::*;

    #[tokio::test]
    async fn frames_are_read_in_pieces_and_in_batches() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut incoming, _outgoing) = split(ours);
        theirs.write_all(b"\x02\0\0").await.unwrap();
        assert!(incoming.fill().await.unwrap());
        assert!(incoming.next().unwrap().is_none());
        theirs.write_all(b"\0{}\x01\0\0\x007\x01").await.unwrap();
        assert!(incoming.fill().await.unwrap());
        assert_eq!(incoming.next().unwrap().unwrap(), "{}");
        assert_eq!(incoming.next().unwrap().unwrap(), "7");
        assert!(incoming.next().unwrap().is_none());
        drop(theirs);
        assert!(!incoming.fill().await.unwrap());
    }

    #[tokio::test]
    async fn memory_of_a_large_frame_is_freed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut incoming, _outgoing) = split(ours);
        let length = 4 * KEPT;
        let sending = async move {
            theirs
                .write_all(&(length as u32).to_le_bytes())
                .await
                .unwrap();
            theirs.write_all(&vec![b'7'; length]).await.unwrap();
            theirs
        };
        let reading = async {
            while incoming.next().unwrap().is_none() {
                assert!(incoming.fill().await.unwrap());
            }
        };
        let (_theirs, ()) = tokio::join!(sending, reading);
        incoming.rest();
        assert!(incoming.buffer.capacity() <= KEPT);
    }

    #[tokio::test]
    async fn draining_reads_available_frames_without_waiting() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut incoming, _outgoing) = split(ours);
        incoming.drain();
        assert!(incoming.next().unwrap().is_none());
        // The event loop does not run before this is read.
        let mut theirs = theirs.into_std().unwrap();
        theirs.write_all(b"\x02\0\0\0{}\x01\0\0\x007").unwrap();
        drop(theirs);
        incoming.drain();
        assert_eq!(incoming.next().unwrap().unwrap(), "{}");
        assert_eq!(incoming.next().unwrap().unwrap(), "7");
        incoming.drain();
        assert!(incoming.next().unwrap().is_none());
    }

    #[tokio::test]
    async fn a_huge_frame_is_an_error() {
        for length in [frame::EVENT_LIMIT + 1, u32::MAX as usize] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let (mut incoming, _outgoing) = split(ours);
            theirs.write_all(&frame::header(length)).await.unwrap();
            incoming.fill().await.unwrap();
            assert!(incoming.next().is_err());
        }
    }

    #[tokio::test]
    async fn half_a_frame_is_recognised_before_and_after_a_look() {
        for (sent, cut) in [
            (&b"\x02\0\0\0{}"[..], false),
            (b"\x02\0\0\0{}\x02\0", true),
            (b"\x02\0\0\0", true),
            (b"\x02\0\0\0{", true),
        ] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let (mut incoming, _outgoing) = split(ours);
            theirs.write_all(sent).await.unwrap();
            incoming.fill().await.unwrap();
            assert_eq!(incoming.is_cut_short(), cut, "{sent:?}");
            while incoming.next().unwrap().is_some() {}
            assert_eq!((incoming.is_cut_short(), incoming.is_empty()), (cut, !cut));
        }
    }

    #[tokio::test]
    async fn commands_are_framed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (_incoming, mut outgoing) = split(ours);
        outgoing
            .queue(&Command::Start {
                endpoints: vec!["a:1".to_owned()],
            })
            .unwrap();
        while !outgoing.is_empty() {
            outgoing.flush().await;
        }
        drop((outgoing, _incoming));
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).await.unwrap();
        let body = br#"{"command":"start","endpoints":["a:1"]}"#;
        assert_eq!(sent[..4], (body.len() as u32).to_le_bytes());
        assert_eq!(&sent[4..], body);
    }
}

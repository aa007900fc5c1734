//! Messages and descriptors that shim and process 1 exchange over a socket, the only descriptor besides its output that
//! process 1 starts with.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;

/// Descriptors of one message. The kernel allows 253.
const DESCRIPTORS: usize = 8;

/// Bytes of one message.
const WORDS: usize = 1024;

/// A received message.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) words: String,
    /// Closed when another program is executed.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// The sender as numbered in this process's namespace, if the socket asks for credentials.
    pub(crate) sender: Option<Pid>,
}

/// Sends words, which are empty if all is well, and descriptors. Never blocks: there is room for everything that is
/// ever sent.
pub(crate) fn send(
    socket: impl AsFd,
    words: &str,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    // An empty message could not be told from the end.
    let parts = [IoSlice::new(words.as_bytes()), IoSlice::new(b"\n")];
    sendmsg(socket, &parts, &mut control, flags)?;
    Ok(())
}

/// Receives a message. Blocks until one arrives, or for as long as the socket's timeout.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Message> {
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut words = [0; WORDS];
    let read = loop {
        let mut parts = [IoSliceMut::new(&mut words)];
        match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            // Reported once if the peer has ended without reading everything: what it sent before can still be
            // received.
            Err(Errno::CONNRESET) => {}
            read => break read?,
        }
    };
    if read.bytes == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let words = String::from_utf8_lossy(&words[..read.bytes]);
    let mut message = Message {
        words: words.trim_end().to_owned(),
        ..Message::default()
    };
    for ancillary in control.drain() {
        match ancillary {
            RecvAncillaryMessage::ScmRights(descriptors) => message.descriptors.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(sender) => message.sender = Some(sender.pid),
            _ => {}
        }
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_and_their_sender_arrive() {
        let (one, other) = UnixStream::pair().unwrap();
        rustix::net::sockopt::set_socket_passcred(&other, true).unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&one, "well", &[writer.as_fd()]).unwrap();
        drop(writer);
        let mut message = receive(&other).unwrap();
        assert_eq!(message.words, "well");
        assert_eq!(message.sender, Some(rustix::process::getpid()));
        let mut writer = io::PipeWriter::from(message.descriptors.remove(0));
        writer.write_all(b"through").unwrap();
        drop((writer, message));
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "through");
    }

    #[test]
    fn messages_sent_before_the_end_are_received() {
        let (one, other) = UnixStream::pair().unwrap();
        send(&other, "never heard", &[]).unwrap();
        send(&one, "last words", &[]).unwrap();
        drop(one);
        assert_eq!(receive(&other).unwrap().words, "last words");
        assert_eq!(
            receive(&other).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn a_closed_socket_hands_over_nothing() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(one);
        assert_eq!(
            receive(&other).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
        assert!(send(&other, "", &[]).is_err());
    }
}

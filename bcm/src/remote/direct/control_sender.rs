//! Sends frames that nobody may wait for: offers, and the answers to them, which reading threads
//! send. They are written immediately if that does not block; a thread dials, and waits for room.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use socket2::Socket;

use super::connection_error::ConnectionError;
use super::dialler::Dialler;
use super::handshake::Purpose;
use super::outbox::Outbox;
use super::watch::Watch;
use super::{Thread, error, socket};
use crate::error::Error;
use crate::local::Waker;
use crate::pack_id::PackId;
use crate::remote::Frame;

/// The most bytes a pack may leave unread: thousands of frames, and a thread waits on each of them.
const MOST: usize = 256 << 10;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct ControlSender {
    shared: Arc<Shared>,
    thread: Thread,
}

/// What the thread shares with senders.
#[derive(Debug)]
struct Shared {
    connections: Vec<Mutex<PackConnection>>,
    dialler: Arc<Dialler>,
    watch: Arc<Watch>,
    pending: Mutex<Pending>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Pending {
    /// Packs that the thread must dial, or wait for.
    waiting: BTreeSet<PackId>,
    closing: bool,
}

/// The connection to one pack.
#[derive(Debug, Default)]
struct PackConnection {
    /// Opened when there is something to send.
    stream: Option<Arc<Socket>>,
    outbox: Outbox,
}

impl ControlSender {
    pub(super) fn start(
        packs: u32,
        dialler: Arc<Dialler>,
        watch: Arc<Watch>,
    ) -> Result<Self, Error> {
        let waker = Waker::new().map_err(|reason| error(None, format!("cannot send: {reason}")))?;
        let shared = Arc::new(Shared {
            connections: (0..packs).map(|_| Mutex::default()).collect(),
            dialler,
            watch,
            pending: Mutex::default(),
            waker,
        });
        let carrying = Arc::clone(&shared);
        let thread = Thread::spawn("bcm-answer", move || carrying.run())?;
        Ok(Self { shared, thread })
    }

    /// Sends a frame to a pack, unless `ended` reports that nothing more is to be sent. An
    /// unreachable pack is left for the watch to judge.
    pub(super) fn send(
        &self,
        to: PackId,
        frame: &Frame<'_>,
        ended: impl FnOnce() -> bool,
    ) -> Result<(), Error> {
        let Some(connection) = self.shared.connections.get(to.index()) else {
            return Err(ConnectionError::NoSuchPack.towards(to));
        };
        let mut connection = connection.lock();
        if ended() {
            return Ok(());
        }
        if connection.outbox.len() >= MOST {
            return Err(ConnectionError::Unread.towards(to));
        }
        self.shared.add(to, &mut connection, frame);
        Ok(())
    }

    /// Sends the last frames of a flare to all packs to which anything was sent.
    pub(super) fn send_final_frames(&self, frames: &[Frame<'_>]) {
        for (to, connection) in (0..).map(PackId).zip(&self.shared.connections) {
            let mut connection = connection.lock();
            for frame in frames {
                // Checked for each frame: the connection may have broken with the one before.
                if connection.stream.is_some() || !connection.outbox.is_empty() {
                    self.shared.add(to, &mut connection, frame);
                }
            }
        }
    }

    /// Hangs up and ends the thread. Does nothing when called again.
    pub(super) fn close(&self) {
        self.shared.pending.lock().closing = true;
        self.shared.waker.wake();
        self.thread.join();
        for connection in &self.shared.connections {
            *connection.lock() = PackConnection::default();
        }
    }
}

impl Shared {
    fn add(&self, to: PackId, connection: &mut PackConnection, frame: &Frame<'_>) {
        // If the outbox is not empty, the thread is already writing it.
        let first = connection.outbox.is_empty();
        connection.outbox.add(&frame.header.encode());
        connection.outbox.add(frame.payload);
        if !first {
            return;
        }
        self.flush(to, connection);
        if !connection.outbox.is_empty() {
            self.pending.lock().waiting.insert(to);
            self.waker.wake();
        }
    }

    /// Writes as much as the socket accepts, once there is a connection.
    fn flush(&self, to: PackId, connection: &mut PackConnection) {
        let PackConnection { stream, outbox } = connection;
        if let Some(open) = stream
            && let Err(reason) = outbox.flush(open)
        {
            self.broken(to, connection, reason.into());
        }
    }

    fn broken(&self, to: PackId, connection: &mut PackConnection, reason: ConnectionError) {
        *connection = PackConnection::default();
        self.watch.suspect(to, reason);
    }

    fn run(&self) {
        loop {
            let waiting = {
                let mut pending = self.pending.lock();
                if pending.closing {
                    return;
                }
                std::mem::take(&mut pending.waiting)
            };
            let mut stuck = Vec::new();
            for to in waiting {
                if let Some(stream) = self.carry(to) {
                    stuck.push((to, stream));
                }
            }
            let mut watched = vec![PollFd::new(&self.waker, PollFlags::IN)];
            watched.extend(
                (stuck.iter())
                    .map(|(_, stream)| PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::OUT)),
            );
            // Even after an interruption, all connections are checked.
            let _ = poll(&mut watched, None);
            self.waker.reset();
            let stuck = stuck.iter().map(|(to, _)| *to);
            self.pending.lock().waiting.extend(stuck);
        }
    }

    /// Dials a pack if necessary and writes to it; returns its connection while that has no room.
    fn carry(&self, to: PackId) -> Option<Arc<Socket>> {
        let connection = self.connections.get(to.index())?;
        if connection.lock().stream.is_none() {
            let dialled = self.dialler.dial(to, Purpose::Frames).and_then(|stream| {
                socket::prepare(&stream)?;
                stream.set_nonblocking(true)?;
                Ok(stream)
            });
            let mut connection = connection.lock();
            match dialled {
                Ok(stream) => connection.stream = Some(Arc::new(stream)),
                Err(reason) => self.broken(to, &mut connection, reason),
            }
        }
        let mut connection = connection.lock();
        self.flush(to, &mut connection);
        match connection.outbox.is_empty() {
            true => None,
            false => connection.stream.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;
    use crate::remote::direct::handshake::{Credentials, Reception};
    use crate::remote::direct::membership::Membership;
    use crate::remote::inbox::Inbox;
    use crate::wire::{Header, Kind};

    const FLARE: [u8; 16] = [7; 16];

    #[test]
    fn frames_for_a_pack_that_does_not_read_are_bounded_and_block_nobody() {
        let inbox = Inbox::of_two_packs(FLARE);
        let credentials = Credentials::new(&"secret".into(), FLARE);
        let dialler = Arc::new(Dialler::new(PackId(0), credentials.clone(), false));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap().to_string();
        dialler.learn(&["nowhere:1".to_owned(), endpoint]).unwrap();
        let membership = Arc::new(Membership::new(Arc::clone(&inbox)));
        let watch = Arc::new(Watch::start(inbox, membership, Arc::clone(&dialler)).unwrap());
        let control_sender = ControlSender::start(2, dialler, Arc::clone(&watch)).unwrap();
        let (done, finished) = mpsc::channel::<()>();
        let deaf = std::thread::spawn(move || {
            let stream = Socket::from(listener.accept().unwrap().0);
            let mut reception = Reception::begin(&stream).unwrap();
            let peer = loop {
                if let Some(peer) = reception.hear(&stream, &credentials, PackId(1), 2).unwrap() {
                    break peer;
                }
            };
            peer.accept(&stream).unwrap();
            let _ = finished.recv();
        });
        let header = Header::notice(Kind::Credit, FLARE, PackId(0), 0);
        let frame = Frame {
            header,
            payload: &[],
        };
        let mut sent = 0u64;
        let refused = loop {
            match control_sender.send(PackId(1), &frame, || false) {
                Ok(()) => sent += 1,
                Err(refused) => break refused,
            }
            assert!(sent < 1 << 20, "there is no bound");
        };
        assert!(refused.to_string().contains("does not read"), "{refused}");
        control_sender.send_final_frames(&[frame]);
        drop(done);
        deaf.join().unwrap();
        control_sender.close();
        watch.close();
    }
}

//! The thread that reads all connections of a pack that no worker reads.
//!
//! It sleeps until something arrives on any of them. When a worker reads a connection itself the
//! thread would only be in its way, so it takes that connection out of its epoll set: for as long
//! as workers sleep on it, and otherwise until a check, made every millisecond, shows that none has
//! read since the last one. So neither side pays for the other with each message.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use socket2::Socket;

use super::connection_error::ConnectionError;
use super::connection_reader::{ConnectionReader, Turn};
use super::peers::Peers;
use super::reader_shared::ReaderShared;
use super::watch::Watch;
use super::{Thread, error};
use crate::error::Error;
use crate::local::Waker;
use crate::pack_id::PackId;

/// How often the thread checks whether workers still read.
const CHECK_PERIOD: Duration = Duration::from_millis(1);
/// How often it checks while workers sleep on each connection that it has left to them.
const LONGEST: Duration = Duration::from_millis(100);
/// The most events fetched at a time.
const EVENTS: usize = 64;
/// The waker's place in the set; connections are numbered from 1.
const WAKER: u64 = 0;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Reader {
    shared: Arc<ReaderShared>,
    thread: Thread,
}

impl Reader {
    pub(super) fn start(peers: Arc<Peers>, watch: Arc<Watch>) -> Result<Self, Error> {
        let wrap = |reason: std::io::Error| error(None, format!("cannot read: {reason}"));
        let set =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|reason| wrap(reason.into()))?;
        let waker = Waker::new().map_err(wrap)?;
        let number = epoll::EventData::new_u64(WAKER);
        epoll::add(&set, &waker, number, epoll::EventFlags::IN)
            .map_err(|reason| wrap(reason.into()))?;
        let shared = Arc::new(ReaderShared::new(set, waker));
        let reading = Reading {
            shared: Arc::clone(&shared),
            peers,
            watch,
            connections: HashMap::new(),
            left: Vec::new(),
            looked: Instant::now(),
            pause: None,
        };
        let thread = Thread::spawn("bcm-read", move || reading.run())?;
        Ok(Self { shared, thread })
    }

    /// This pack now knows the others' endpoints: from now on it reads what they send.
    pub(super) fn open_gate(&self) {
        self.shared.ask(|pending| pending.open = true);
    }

    /// Adds a connection that a pack has made, with its number.
    pub(super) fn add(&self, stream: Socket, pack: PackId, number: u64) {
        self.shared
            .ask(|pending| pending.new.push((stream, pack, number)));
    }

    /// Ends all connections and the thread. Does nothing when called again.
    pub(super) fn close(&self) {
        self.shared.ask(|pending| pending.closing = true);
        self.thread.join();
    }
}

/// The state that only the thread has.
struct Reading {
    shared: Arc<ReaderShared>,
    peers: Arc<Peers>,
    watch: Arc<Watch>,
    connections: HashMap<u64, Arc<ConnectionReader>>,
    /// The connections that are not in the epoll set, mostly because they are left to workers.
    left: Vec<Arc<ConnectionReader>>,
    /// When the thread last checked whether they still are, and how long it may sleep from then on.
    looked: Instant,
    pause: Option<Duration>,
}

impl Reading {
    fn run(mut self) {
        loop {
            let woken = self.sleep();
            if woken && self.take_new_streams() {
                break;
            }
            let dozed = self.pause == Some(LONGEST);
            if woken || dozed || self.left_to_sleep().is_none_or(|left| left.is_zero()) {
                self.take_back(woken);
            }
        }
        for (_, connection) in self.connections.drain() {
            connection.hang_up();
            self.peers.forget(&connection);
        }
    }

    /// Sleeps until something arrives, the waker wakes the thread or the next check is due, and
    /// reads whatever has arrived. Returns whether the waker woke it.
    fn sleep(&mut self) -> bool {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let limit = self.left_to_sleep();
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let shared = Arc::clone(&self.shared);
        let come = epoll::wait(&shared.set, &mut events, limit.as_ref());
        shared.dozes.store(false, Ordering::SeqCst);
        // After an interruption it finds nothing and sleeps again.
        let come = come.map_or(&[][..], |(come, _)| come);
        let mut woken = false;
        for event in come {
            match event.data.u64() {
                WAKER => {
                    shared.waker.reset();
                    woken = true;
                }
                number => self.come(number),
            }
        }
        woken
    }

    fn left_to_sleep(&self) -> Option<Duration> {
        let pause = self.pause?;
        Some(pause.saturating_sub(self.looked.elapsed()))
    }

    fn come(&mut self, number: u64) {
        let Some(connection) = self.connections.get(&number) else {
            return;
        };
        let turn = match connection.is_read_by_worker() {
            true => Turn::Left,
            false => connection.take_turn(),
        };
        match turn {
            Turn::Taken => {}
            Turn::Left => {
                let _ = epoll::delete(&self.shared.set, &**connection);
                connection.set_left_to_workers(true);
                self.left.push(Arc::clone(connection));
            }
            Turn::Ended(end) => self.end(number, end),
        }
    }

    /// Handles the requests of other threads. Returns whether the thread should end.
    fn take_new_streams(&mut self) -> bool {
        let (new, ended) = {
            let mut pending = self.shared.pending.lock();
            if pending.closing {
                return true;
            }
            let new = match pending.open {
                true => std::mem::take(&mut pending.new),
                false => Vec::new(),
            };
            (new, std::mem::take(&mut pending.ended))
        };
        for (stream, pack, number) in new {
            let connection = self.peers.add(stream, (pack, number), &self.shared);
            self.connections.insert(number, Arc::clone(&connection));
            self.watch_over(&connection);
        }
        for number in ended {
            if let Some(end) = self.connections.get(&number).and_then(|it| it.end()) {
                self.end(number, end);
            }
        }
        false
    }

    /// Puts a connection into the epoll set. If the system has no room for it there (the limit is
    /// per user) the connection is read from time to time instead.
    fn watch_over(&mut self, connection: &Arc<ConnectionReader>) {
        let number = epoll::EventData::new_u64(connection.number());
        let added = epoll::add(
            &self.shared.set,
            &**connection,
            number,
            epoll::EventFlags::IN,
        );
        connection.set_left_to_workers(added.is_err());
        if added.is_ok() {
            return;
        }
        match connection.take_turn() {
            Turn::Ended(end) => self.end(connection.number(), end),
            Turn::Taken | Turn::Left => self.left.push(Arc::clone(connection)),
        }
    }

    /// Takes back connections that workers no longer read, and decides how long to sleep.
    fn take_back(&mut self, woken: bool) {
        let left = std::mem::take(&mut self.left);
        for connection in left {
            if connection.is_still_read_by_worker() {
                self.left.push(connection);
            } else {
                self.watch_over(&connection);
            }
        }
        self.looked = Instant::now();
        self.pause = match self.left.is_empty() {
            true => None,
            // Called by a worker that usually sleeps again soon: if the thread dozed off
            // immediately, that worker would have to wake it again.
            false if woken => Some(CHECK_PERIOD),
            false => Some(self.doze()),
        };
    }

    fn doze(&self) -> Duration {
        self.shared.dozes.store(true, Ordering::SeqCst);
        match self
            .left
            .iter()
            .all(|connection| connection.election.is_any())
        {
            true => LONGEST,
            false => {
                self.shared.dozes.store(false, Ordering::SeqCst);
                CHECK_PERIOD
            }
        }
    }

    /// Removes a connection that has ended; if its pack broke it off, the watch judges that.
    fn end(&mut self, number: u64, end: ConnectionError) {
        let Some(connection) = self.connections.remove(&number) else {
            return;
        };
        let _ = epoll::delete(&self.shared.set, &*connection);
        self.left.retain(|other| other.number() != number);
        connection.hang_up();
        self.peers.forget(&connection);
        let (pack, used) = (connection.pack(), connection.was_used());
        if !self.peers.membership.disconnected(pack, number, used) {
            self.watch.suspect(pack, end);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::address::{Class, Destination};
    use crate::payload::Encoding;
    use crate::remote::direct::dialler::Dialler;
    use crate::remote::direct::handshake::Credentials;
    use crate::remote::inbox::Inbox;
    use crate::tag::Tag;
    use crate::wire::{Header, Kind};

    const FLARE: [u8; 16] = [7; 16];

    #[test]
    fn a_connection_that_epoll_refuses_is_still_read() {
        let inbox = Inbox::of_two_packs(FLARE);
        let peers = Arc::new(Peers::new(Arc::clone(&inbox)));
        let credentials = Credentials::new(&"secret".into(), FLARE);
        let dialler = Arc::new(Dialler::new(PackId(0), credentials, false));
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let ours = Socket::from(ours);
        let watch = Watch::start(Arc::clone(&inbox), Arc::clone(&peers.membership), dialler);
        let watch = Arc::new(watch.unwrap());
        let reader = Reader::start(Arc::clone(&peers), Arc::clone(&watch)).unwrap();
        // Adding it a second time fails, like a lack of room.
        let other = epoll::EventData::new_u64(99);
        epoll::add(&reader.shared.set, &ours, other, epoll::EventFlags::empty()).unwrap();
        let number = peers.membership.connected(PackId(1)).unwrap();
        reader.add(ours, PackId(1), number);
        reader.open_gate();
        for sequence in 0..3 {
            let message = Header {
                kind: Kind::Data,
                flare: FLARE,
                pack: PackId(1),
                source: 1,
                destination: Destination::Worker(0),
                context: 0,
                class: Class::Point { tag: Tag(0) },
                sequence,
                total: 0,
                chunk: 0,
                chunks: 1,
                encoding: Encoding::U8,
                fingerprint: 0,
                checksum: 0,
            };
            theirs.write_all(&message.encode()).unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            while inbox.counters.snapshot().messages_received <= sequence {
                assert!(Instant::now() < until, "it is not read");
                std::thread::yield_now();
            }
        }
        watch.close();
        reader.close();
    }
}

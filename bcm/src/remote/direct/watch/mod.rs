//! How packs learn that another one has failed or left, without connecting every pack to every
//! other.
//!
//! The packs form a star. Its middle is the last pack; every other one dials it at the start and
//! keeps that *line*. If a line ends before a goodbye was received, its pack is suspected. It
//! counts as lost unless an explanation arrives within [`EXPLANATION`]: the end of a connection
//! does not tell which worker ended the pack, and how. The supervisor of the pack knows, and
//! reports it to another pack, which passes it on.
//!
//! News (a goodbye, a failure) goes to all lines, and a pack that receives news for the first time
//! repeats it on all its other lines. So it reaches everybody in two steps.
//!
//! A pack leaves by saying goodbye on its line, and waits until the middle sends the goodbye back,
//! which by then has passed it on to the others. The middle stays while the others are there, and
//! somewhat longer than they usually take to leave; for packs that have not dialled it yet it stays
//! longer still, longest if they can be reached. Then it hangs up after its goodbye, and the last
//! of the remaining packs is the new middle, which the others dial. (The *last* pack, because a
//! process that holds several packs mostly closes them in order.)
//!
//! ```text
//! goodbye of 1 over 3:     1 ──Goodbye(1)──▶ 3 ──Goodbye(1)──▶ 0, 2, and 1 itself: it may go
//! 3 leaves before the others:   3 ──Goodbye(3)──▶ 0, 1, 2; hangs up;   0, 1 ──dial──▶ 2
//! ```

mod flare;
mod line;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use socket2::Socket;

use super::connection_error::ConnectionError;
use super::dialler::Dialler;
use super::handshake::Purpose;
use super::membership::Membership;
use super::{Thread, error};
use crate::error::Error;
use crate::local::Waker;
use crate::pack_id::PackId;
use crate::remote::Frame;
use crate::remote::inbox::Inbox;
use line::Notice;
use watcher::Watcher;

/// How long the explanation of what happened to a pack may take after its connections have ended.
pub(super) const EXPLANATION: Duration = Duration::from_millis(600);
/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Arc<Shared>,
    thread: Thread,
}

/// The requests of other threads to the watch's thread.
#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    waker: Waker,
    may_go: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<(PackId, Socket)>,
    failure: Option<Notice>,
    suspects: Vec<(PackId, ConnectionError)>,
    /// The next flare's inbox, when that flare begins.
    renewed: Option<Arc<Inbox>>,
    /// This pack has joined the star, and keeps itself linked from now on.
    joined: bool,
    leaving: bool,
    closing: bool,
    /// The thread's answer to `leaving`.
    may_go: bool,
}

impl Watch {
    pub(super) fn start(
        inbox: Arc<Inbox>,
        membership: Arc<Membership>,
        dialler: Arc<Dialler>,
    ) -> Result<Self, Error> {
        let waker =
            Waker::new().map_err(|reason| error(None, format!("cannot watch: {reason}")))?;
        let shared = Arc::new(Shared {
            pending: Mutex::default(),
            waker,
            may_go: Condvar::new(),
        });
        let watcher = Watcher::new(inbox, membership, dialler, Arc::clone(&shared));
        let thread = Thread::spawn("bcm-watch", move || watcher.run())?;
        Ok(Self { shared, thread })
    }

    /// Dials the middle of the star in the first flare. The packs' endpoints must be known.
    pub(super) fn join(&self, dialler: &Dialler, pack: PackId, packs: u32) -> Result<(), Error> {
        let middle = PackId(packs - 1);
        let line = match pack == middle {
            true => None,
            false => {
                let dialled = dialler.dial(middle, Purpose::Watch);
                Some((middle, dialled.map_err(|reason| reason.towards(middle))?))
            }
        };
        // In one step: otherwise the thread could dial a second line, and the middle could say
        // goodbye on that one before this one has reached it.
        self.ask(|pending| {
            pending.lines.extend(line);
            pending.joined = true;
        });
        Ok(())
    }

    /// The next flare begins, with all packs present and on the existing lines.
    pub(super) fn renew(&self, inbox: Arc<Inbox>) {
        self.ask(|pending| {
            // Requests that are still pending were for a flare that is over.
            *pending = Pending {
                lines: std::mem::take(&mut pending.lines),
                renewed: Some(inbox),
                ..Pending::default()
            };
        });
    }

    /// The next flare has started.
    pub(super) fn rejoin(&self) {
        self.ask(|pending| pending.joined = true);
    }

    fn ask(&self, what: impl FnOnce(&mut Pending)) {
        what(&mut self.shared.pending.lock());
        self.shared.waker.wake();
    }

    /// Adds a connection to a pack that has passed the handshake.
    pub(super) fn adopt(&self, pack: PackId, stream: Socket) {
        self.ask(|pending| pending.lines.push((pack, stream)));
    }

    /// Announces a failure of the current flare to all packs. Only the first one goes round.
    pub(super) fn announce(&self, failure: &Frame<'_>) {
        self.ask(|pending| {
            (pending.failure).get_or_insert_with(|| (failure.header, failure.payload.to_vec()));
        });
    }

    /// Reports a connection from or to a pack that does not work: the pack is about to leave, or is
    /// declared lost after [`EXPLANATION`].
    pub(super) fn suspect(&self, pack: PackId, reason: ConnectionError) {
        self.ask(|pending| pending.suspects.push((pack, reason)));
    }

    /// Says goodbye and stays, to inform packs that do not know yet.
    pub(super) fn rest(&self) {
        self.ask(|pending| pending.leaving = true);
    }

    /// Says goodbye and waits until every pack knows, or can do without.
    pub(super) fn leave(&self) {
        self.rest();
        let mut pending = self.shared.pending.lock();
        while !pending.may_go {
            self.shared.may_go.wait(&mut pending);
        }
    }

    /// Hangs up and ends the thread. Does nothing when called again.
    pub(super) fn close(&self) {
        self.ask(|pending| pending.closing = true);
        self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::collections::BTreeSet;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Shutdown, TcpListener};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;
    use crate::cancellation::Cancellation;
    use crate::failure::{Failure, FailureKind};
    use crate::mailboxes::Mailboxes;
    use crate::remote::direct::handshake::Credentials;
    use crate::remote::inbox::InboxConfig;
    use crate::topology::Topology;
    use crate::wire::{HEADER_SIZE, Header, Kind};

    const FLARE: [u8; 16] = [7; 16];
    const SOON: Duration = Duration::from_secs(60);

    fn inbox(flare: [u8; 16], pack: PackId, packs: u32) -> Arc<Inbox> {
        Inbox::new(InboxConfig {
            flare,
            pack,
            topology: Topology::new(&vec![1; packs as usize]).unwrap(),
            max_message: 1 << 20,
            max_bytes_in_flight: 1 << 20,
            cancellation: Arc::new(Cancellation::new(1, None, Duration::from_secs(5))),
            mailboxes: Arc::new(Mailboxes::new(pack.0, 1)),
        })
    }

    /// The watch of a pack among packs of one worker each.
    fn watch(pack: PackId, packs: u32) -> (Watch, Arc<Dialler>) {
        watch_of(inbox(FLARE, pack, packs), pack)
    }

    fn watch_of(inbox: Arc<Inbox>, pack: PackId) -> (Watch, Arc<Dialler>) {
        let membership = Arc::new(Membership::new(Arc::clone(&inbox)));
        let credentials = Credentials::new(&"secret".into(), FLARE);
        let dialler = Arc::new(Dialler::new(pack, credentials, false));
        let watch = Watch::start(inbox, membership, Arc::clone(&dialler)).unwrap();
        (watch, dialler)
    }

    #[test]
    fn no_pack_is_dialled_before_joining() {
        let middle = TcpListener::bind("127.0.0.1:0").unwrap();
        middle.set_nonblocking(true).unwrap();
        let (watch, dialler) = watch(PackId(0), 2);
        let address = middle.local_addr().unwrap().to_string();
        dialler.learn(&["127.0.0.1:1".to_owned(), address]).unwrap();
        // The watch answers after it has gone round its loop once.
        watch.leave();
        let dialled = middle.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(dialled, Err(ErrorKind::WouldBlock));
        watch.close();
    }

    #[test]
    fn the_middle_waits_for_a_reachable_pack_that_has_not_dialled_yet() {
        let slow = TcpListener::bind("127.0.0.1:0").unwrap();
        let (watch, dialler) = watch(PackId(1), 2);
        let address = slow.local_addr().unwrap().to_string();
        dialler.learn(&[address, "127.0.0.1:1".to_owned()]).unwrap();
        watch.join(&dialler, PackId(1), 2).unwrap();
        std::thread::scope(|scope| {
            let leaving = scope.spawn(|| watch.leave());
            std::thread::sleep(watcher::GRACE_PERIOD + Duration::from_secs(1));
            assert!(!leaving.is_finished());
            let (line, _its_end) = UnixStream::pair().unwrap();
            watch.adopt(PackId(0), line.into());
            leaving.join().unwrap();
        });
        watch.close();
    }

    #[test]
    fn a_pack_whose_goodbye_came_back_may_leave_after_the_middle_has() {
        // Pack 0 still works and knows that no other pack does: it dials nobody.
        let working = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = working.local_addr().unwrap().to_string();
        let (watch, dialler) = watch(PackId(1), 3);
        let nowhere = || "127.0.0.1:1".to_owned();
        dialler.learn(&[address, nowhere(), nowhere()]).unwrap();
        // Everything the middle will ever send, and its end, has arrived before the pack first
        // looks.
        let (line, mut middle) = UnixStream::pair().unwrap();
        for pack in [PackId(1), PackId(2)] {
            let goodbye = Header::notice(Kind::Goodbye, FLARE, pack, 0);
            middle.write_all(&goodbye.encode()).unwrap();
        }
        middle.shutdown(Shutdown::Write).unwrap();
        let begun = Instant::now();
        watch.ask(|pending| {
            pending.lines.push((PackId(2), Socket::from(line)));
            pending.joined = true;
            pending.leaving = true;
        });
        watch.leave();
        // Far less than it would wait for a reachable pack that has not dialled it.
        assert!(begun.elapsed() < watcher::LONGEST_GRACE_PERIOD / 2);
        watch.close();
    }

    #[test]
    fn a_failure_of_the_previous_flare_is_not_announced_in_the_next() {
        let (watch, _dialler) = watch(PackId(0), 2);
        let (line, mut other) = UnixStream::pair().unwrap();
        watch.adopt(PackId(1), Socket::from(line));
        watch.renew(inbox([8; 16], PackId(0), 2));
        let late = Header::notice(Kind::Abort, FLARE, PackId(0), 0);
        let (header, payload) = (late, &[][..]);
        watch.announce(&Frame { header, payload });
        watch.rest();
        let mut heard = [0; HEADER_SIZE];
        other.read_exact(&mut heard).unwrap();
        assert_eq!(Header::decode(&heard).unwrap().kind, Kind::Goodbye);
        watch.close();
    }

    #[test]
    fn a_late_dialler_receives_a_failure_before_the_goodbye() {
        let (watch, _dialler) = watch(PackId(1), 2);
        let header = Header::notice(Kind::Abort, FLARE, PackId(1), 0);
        let payload = &[][..];
        watch.announce(&Frame { header, payload });
        // It has sent both when it may go.
        watch.leave();
        let (line, mut other) = UnixStream::pair().unwrap();
        other.set_read_timeout(Some(SOON)).unwrap();
        watch.adopt(PackId(0), Socket::from(line));
        let heard = [(); 2].map(|()| {
            let mut heard = [0; HEADER_SIZE];
            other.read_exact(&mut heard).unwrap();
            Header::decode(&heard).unwrap().kind
        });
        assert_eq!(heard, [Kind::Abort, Kind::Goodbye]);
        watch.close();
    }

    /// It arrived on a connection for messages, from a pack whose own announcement may never
    /// arrive.
    #[test]
    fn a_failure_received_on_another_connection_is_announced_as_well() {
        let inbox = inbox(FLARE, PackId(1), 2);
        let (watch, _dialler) = watch_of(Arc::clone(&inbox), PackId(1));
        let (line, mut other) = UnixStream::pair().unwrap();
        other.set_read_timeout(Some(SOON)).unwrap();
        watch.adopt(PackId(0), Socket::from(line));
        let failure = Failure::new(FailureKind::Panic, "the first cause");
        inbox.config().cancellation.end(Error::Aborted(failure));
        watch.leave();
        let heard = [(); 2].map(|()| {
            let mut header = [0; HEADER_SIZE];
            other.read_exact(&mut header).unwrap();
            let header = Header::decode(&header).unwrap();
            let mut payload = vec![0; header.payload_len().unwrap()];
            other.read_exact(&mut payload).unwrap();
            header.kind
        });
        assert_eq!(heard, [Kind::Abort, Kind::Goodbye]);
        watch.close();
    }

    #[test]
    fn a_thousand_packs_hear_of_each_other_through_the_middle() {
        const PACKS: u32 = 1000;
        let (watch, _dialler) = watch(PackId(PACKS - 1), PACKS);
        let mut others: Vec<_> = PackId::all(PACKS - 1)
            .map(|pack| {
                let (line, other) = UnixStream::pair().unwrap();
                watch.adopt(pack, Socket::from(line));
                other
            })
            .collect();
        for (pack, other) in PackId::all(PACKS).zip(&mut others) {
            let goodbye = Header::notice(Kind::Goodbye, FLARE, pack, 0);
            other.write_all(&goodbye.encode()).unwrap();
        }
        for (pack, other) in PackId::all(PACKS).zip(&mut others) {
            // The goodbye of each of the others, and its own: it may go.
            let mut left: BTreeSet<_> = PackId::all(PACKS - 1).collect();
            while !left.is_empty() {
                let mut heard = [0; HEADER_SIZE];
                other.read_exact(&mut heard).unwrap();
                let heard = Header::decode(&heard).unwrap();
                assert_eq!(heard.kind, Kind::Goodbye);
                assert!(left.remove(&heard.pack), "pack {pack} hears it twice");
            }
        }
        drop(others);
        watch.close();
    }

    #[test]
    fn a_pack_has_one_line() {
        let (watch, _dialler) = watch(PackId(0), 2);
        let (line, mut first) = UnixStream::pair().unwrap();
        watch.adopt(PackId(1), Socket::from(line));
        for _ in 0..100 {
            let (line, mut more) = UnixStream::pair().unwrap();
            watch.adopt(PackId(1), Socket::from(line));
            assert_eq!(more.read(&mut [0]).unwrap(), 0);
        }
        watch.rest();
        let mut heard = [0; HEADER_SIZE];
        first.read_exact(&mut heard).unwrap();
        assert_eq!(Header::decode(&heard).unwrap().kind, Kind::Goodbye);
        watch.close();
    }
}

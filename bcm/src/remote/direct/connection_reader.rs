//! The reading end of one connection, which any thread with time may drive.
//!
//! A worker that waits for a message reads it from the socket itself, without blocking: that
//! spares two wake-ups, of the reading thread and by it. The reading thread ([`super::reader`])
//! reads when no worker does. While workers are at it, it only looks in from time to time, and it
//! is called back by the last one that leaves ([`super::reader_election`]).

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use socket2::Socket;

use super::connection_error::ConnectionError;
use super::membership::Membership;
use super::read_ahead::ReadAhead;
use super::reader_election::ReaderElection;
use super::reader_shared::ReaderShared;
use crate::local::Waker;
use crate::pack_id::PackId;
use crate::remote::inbox::{Chunk, Inbox, PayloadTarget};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Steps the reading thread takes on a connection before it looks at the others.
const TURN: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct ConnectionReader {
    stream: Socket,
    pack: PackId,
    /// Which of all connections it is.
    number: u64,
    state: Mutex<ReadState>,
    /// A worker has read here since the reading thread last looked.
    read_by_worker: AtomicBool,
    pub(super) election: ReaderElection,
    /// The reading thread leaves the connection to workers.
    left_to_workers: AtomicBool,
    membership: Arc<Membership>,
    reading: Arc<ReaderShared>,
}

#[derive(Debug)]
struct ReadState {
    /// Of the present flare. What comes of an older one is dropped.
    inbox: Arc<Inbox>,
    /// The beginning of a header.
    kept: Vec<u8>,
    /// Something has come.
    used: bool,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Header,
    Chunk {
        chunk: Chunk,
        filled: usize,
    },
    Notice {
        header: Header,
        payload: Vec<u8>,
        filled: usize,
    },
    Skip(usize),
    Ended(ConnectionError),
}

/// What has become of the reading thread's turn.
#[derive(Debug)]
pub(super) enum Turn {
    Taken,
    /// A worker has it.
    Left,
    Ended(ConnectionError),
}

/// How far one step got.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A message or a part of one is there.
    Forward,
    /// Nothing more has come yet, or nothing will.
    Stuck,
}

impl ConnectionReader {
    /// The stream must not block; all frames must come from this pack.
    pub(super) fn new(
        stream: Socket,
        (pack, number): (PackId, u64),
        membership: Arc<Membership>,
        reading: Arc<ReaderShared>,
    ) -> Self {
        Self {
            stream,
            pack,
            number,
            state: Mutex::new(ReadState {
                inbox: membership.inbox(),
                kept: Vec::new(),
                used: false,
                stage: Stage::Header,
            }),
            read_by_worker: AtomicBool::new(false),
            election: ReaderElection::default(),
            left_to_workers: AtomicBool::new(false),
            membership,
            reading,
        }
    }

    pub(super) fn pack(&self) -> PackId {
        self.pack
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next flare begins: what is read from now on is for its inbox.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        self.state.lock().inbox = Arc::clone(inbox);
    }

    /// A worker reads what has come, unless someone else does. Never blocks; `true` when
    /// something has come.
    pub(super) fn progress(&self) -> bool {
        if !self.read_by_worker.load(Ordering::Relaxed) {
            self.read_by_worker.store(true, Ordering::Relaxed);
        }
        let state = self.state.try_lock();
        state.is_some_and(|state| self.read_on(state))
    }

    /// A worker that slept on the connection reads what has come; `false` when that is nothing.
    /// Waits for another reader, which stops after the next frame or part of a chunk.
    pub(super) fn read_here(&self) -> bool {
        self.read_on(self.state.lock())
    }

    fn read_on(&self, mut state: MutexGuard<'_, ReadState>) -> bool {
        if matches!(state.stage, Stage::Ended(_)) {
            return false;
        }
        // What was read ahead must not stay behind: nothing would tell anybody of it.
        let forward = state.drive(self, || false);
        if matches!(state.stage, Stage::Ended(_)) {
            drop(state);
            self.reading.ended(self.number);
        }
        forward
    }

    /// The worker goes to sleep: the reading thread is to read again.
    pub(super) fn hand_back(&self) {
        if self.read_by_worker.swap(false, Ordering::SeqCst)
            && self.left_to_workers.load(Ordering::SeqCst)
        {
            self.reading.call();
        }
    }

    /// The reading thread's turn: reads what has come, unless a worker does, which may take as long
    /// as that one has to wait for a processor.
    pub(super) fn take_turn(&self) -> Turn {
        let Some(mut state) = self.state.try_lock() else {
            return Turn::Left;
        };
        let mut steps = 0;
        state.drive(self, || {
            steps += 1;
            steps < TURN && !self.read_by_worker.load(Ordering::Relaxed)
        });
        match &state.stage {
            Stage::Ended(end) => Turn::Ended(end.clone()),
            _ => Turn::Taken,
        }
    }

    /// Why nothing more will come, once that is so.
    pub(super) fn end(&self) -> Option<ConnectionError> {
        match &self.state.lock().stage {
            Stage::Ended(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// Whether anything has ever come.
    pub(super) fn was_used(&self) -> bool {
        self.state.lock().used
    }

    /// Whether a worker reads, which the reading thread had better not disturb.
    pub(super) fn is_read_by_worker(&self) -> bool {
        self.read_by_worker.load(Ordering::Acquire)
    }

    /// The reading thread leaves the connection to workers, or comes back.
    pub(super) fn set_left_to_workers(&self, left: bool) {
        self.left_to_workers.store(left, Ordering::SeqCst);
    }

    /// Whether workers still read: one has since the last time, or sleeps here.
    pub(super) fn is_still_read_by_worker(&self) -> bool {
        self.read_by_worker.swap(false, Ordering::SeqCst) || self.election.is_any()
    }

    /// A worker sleeps here: it reads, or another one does.
    pub(super) fn join(&self, waker: &Arc<Waker>) {
        if self.election.join(waker) {
            self.read_by_worker.store(true, Ordering::Release);
        }
    }

    /// The worker has what it waited for. When nobody is left to read, the reading thread looks
    /// in from time to time again.
    pub(super) fn leave(&self, waker: &Arc<Waker>) {
        if self.election.leave(waker) {
            // It may come back at once: the reading thread is not to come in between.
            self.read_by_worker.store(true, Ordering::Relaxed);
            self.reading.wake();
        }
    }

    /// Ends the connection, both ways.
    pub(super) fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl AsFd for ConnectionReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl ReadState {
    /// Reads on while there is something that was read ahead, and as long as `go_on` says; whether
    /// something has come.
    fn drive(&mut self, connection: &ConnectionReader, mut go_on: impl FnMut() -> bool) -> bool {
        let mut kept = std::mem::take(&mut self.kept);
        let forward = ReadAhead::with(&mut kept, |ahead| {
            let mut forward = false;
            while self.step(connection, ahead) == Step::Forward {
                forward = true;
                if ahead.is_empty() && !go_on() {
                    break;
                }
            }
            forward
        });
        self.kept = kept;
        forward
    }

    /// Reads until a frame is whole, part of a chunk has come, or nothing more is there.
    fn step(&mut self, connection: &ConnectionReader, ahead: &mut ReadAhead) -> Step {
        match self.try_step(connection, ahead) {
            Ok(step) => step,
            Err(end) => {
                self.stage = Stage::Ended(end);
                Step::Stuck
            }
        }
    }

    fn try_step(
        &mut self,
        connection: &ConnectionReader,
        ahead: &mut ReadAhead,
    ) -> Result<Step, ConnectionError> {
        let stream = &connection.stream;
        loop {
            match &mut self.stage {
                Stage::Ended(_) => return Ok(Step::Stuck),
                Stage::Header => {
                    if let Some(bytes) = ahead.next(HEADER_SIZE) {
                        self.stage = begin(bytes, connection.pack, &self.inbox)?;
                    } else if ahead.fill(|room| read(stream, room))? == 0 {
                        return Ok(Step::Stuck);
                    } else {
                        self.used = true;
                    }
                }
                Stage::Chunk { chunk, filled } => {
                    let buffer = &mut chunk.bytes()[*filled..];
                    let left = buffer.len();
                    let here = ahead.take(buffer);
                    *filled += here;
                    if here < left {
                        match read(stream, &mut buffer[here..])? {
                            0 => return Ok(Step::Stuck),
                            got => *filled += got,
                        }
                    }
                    if *filled < chunk.bytes().len() {
                        return Ok(Step::Forward);
                    }
                    if let Stage::Chunk { chunk, .. } =
                        std::mem::replace(&mut self.stage, Stage::Header)
                    {
                        chunk.commit();
                    }
                    return Ok(Step::Forward);
                }
                Stage::Notice {
                    header,
                    payload,
                    filled,
                } => {
                    *filled += ahead.take(&mut payload[*filled..]);
                    if *filled < payload.len() {
                        if ahead.fill(|room| read(stream, room))? == 0 {
                            return Ok(Step::Stuck);
                        }
                        continue;
                    }
                    match header.kind {
                        Kind::Goodbye => connection.membership.finished(header, connection.number),
                        // The next flare may have begun since its header came.
                        _ if self.inbox.is_of(header) => self.inbox.notice(header, payload),
                        _ => {}
                    }
                    self.stage = Stage::Header;
                    return Ok(Step::Forward);
                }
                Stage::Skip(left) => {
                    *left -= ahead.skip(*left);
                    if *left == 0 {
                        self.stage = Stage::Header;
                    } else if ahead.fill(|room| read(stream, room))? == 0 {
                        return Ok(Step::Stuck);
                    }
                }
            }
        }
    }
}

/// What follows a header.
fn begin(bytes: &[u8], pack: PackId, inbox: &Inbox) -> Result<Stage, ConnectionError> {
    let refused = |error: WireError| {
        inbox.refused(Some(pack), &error);
        ConnectionError::from(error)
    };
    let header = Header::decode(bytes).map_err(refused)?;
    if header.pack != pack {
        return Err(refused(WireError::Invalid {
            field: "sending pack",
            value: header.pack.0.into(),
        }));
    }
    if !inbox.is_of(&header) {
        let length = header.payload_len().map_err(refused)?;
        return Ok(match header.kind {
            // Nothing follows it, and nothing else of its flare.
            Kind::Goodbye => Stage::Notice {
                header,
                payload: Vec::new(),
                filled: 0,
            },
            _ => Stage::Skip(length),
        });
    }
    Ok(match inbox.open(&header).map_err(refused)? {
        PayloadTarget::Chunk(chunk) => Stage::Chunk { chunk, filled: 0 },
        PayloadTarget::Notice(length) => Stage::Notice {
            header,
            payload: vec![0; length],
            filled: 0,
        },
        PayloadTarget::Skip(length) => Stage::Skip(length),
    })
}

/// Reads what has come; 0 when nothing has.
fn read(mut stream: &Socket, buffer: &mut [u8]) -> Result<usize, ConnectionError> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Err(ConnectionError::NoGoodbye),
            Ok(count) => return Ok(count),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock => return Ok(0),
                _ => return Err(error.into()),
            },
        }
    }
}

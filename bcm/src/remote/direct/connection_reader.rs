//! The reading end of one connection, which any free thread may drive.
//!
//! A worker that waits for a message reads it from the socket itself, without blocking: that saves
//! waking the reading thread, and being woken by it. The reading thread ([`super::reader`]) reads
//! when no worker does. While workers read, it only checks from time to time, and the last worker
//! that leaves calls it back ([`super::reader_election`]).

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

/// The steps the reading thread takes on a connection before it turns to the others.
const TURN: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct ConnectionReader {
    stream: Socket,
    pack: PackId,
    /// Its number among all connections.
    number: u64,
    state: Mutex<ReadState>,
    /// Whether a worker has read here since the reading thread last checked.
    read_by_worker: AtomicBool,
    pub(super) election: ReaderElection,
    /// Whether the reading thread leaves the connection to workers.
    left_to_workers: AtomicBool,
    membership: Arc<Membership>,
    reading: Arc<ReaderShared>,
}

#[derive(Debug)]
struct ReadState {
    /// The current flare's. Frames of older flares are dropped.
    inbox: Arc<Inbox>,
    /// The beginning of a header.
    kept: Vec<u8>,
    /// Whether anything has ever arrived.
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

/// The outcome of the reading thread's turn.
#[derive(Debug)]
pub(super) enum Turn {
    Taken,
    /// A worker is reading.
    Left,
    Ended(ConnectionError),
}

/// How far one step got.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A message or a part of one has been read.
    Forward,
    /// Nothing more has arrived yet, or nothing more will.
    Stuck,
}

impl ConnectionReader {
    /// The stream must be non-blocking; all frames must come from this pack.
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

    /// The next flare begins: everything read from now on is for its inbox.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        self.state.lock().inbox = Arc::clone(inbox);
    }

    /// Reads whatever has arrived, for a worker, unless another thread does. Never blocks; `true`
    /// if something has arrived.
    pub(super) fn progress(&self) -> bool {
        if !self.read_by_worker.load(Ordering::Relaxed) {
            self.read_by_worker.store(true, Ordering::Relaxed);
        }
        let state = self.state.try_lock();
        state.is_some_and(|state| self.read_on(state))
    }

    /// Reads whatever has arrived, for a worker that slept on the connection; `false` if that is
    /// nothing. Waits for another reader, which stops after the next frame or part of a chunk.
    pub(super) fn read_here(&self) -> bool {
        self.read_on(self.state.lock())
    }

    fn read_on(&self, mut state: MutexGuard<'_, ReadState>) -> bool {
        if matches!(state.stage, Stage::Ended(_)) {
            return false;
        }
        // Bytes that were read ahead must not stay behind: nothing would wake anybody for them.
        let forward = state.drive(self, || false);
        if matches!(state.stage, Stage::Ended(_)) {
            drop(state);
            self.reading.ended(self.number);
        }
        forward
    }

    /// A worker that read here goes to sleep: the reading thread must read again.
    pub(super) fn hand_back(&self) {
        if self.read_by_worker.swap(false, Ordering::SeqCst)
            && self.left_to_workers.load(Ordering::SeqCst)
        {
            self.reading.call();
        }
    }

    /// The reading thread's turn: reads whatever has arrived. If a worker is reading, leaves the
    /// connection to it, since waiting for it could take as long as that worker waits for a
    /// processor.
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

    /// The reason nothing more will arrive, once the connection has ended.
    pub(super) fn end(&self) -> Option<ConnectionError> {
        match &self.state.lock().stage {
            Stage::Ended(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// Whether anything has ever arrived.
    pub(super) fn was_used(&self) -> bool {
        self.state.lock().used
    }

    /// Whether a worker reads, in which case the reading thread should not disturb it.
    pub(super) fn is_read_by_worker(&self) -> bool {
        self.read_by_worker.load(Ordering::Acquire)
    }

    /// Records whether the reading thread leaves the connection to workers.
    pub(super) fn set_left_to_workers(&self, left: bool) {
        self.left_to_workers.store(left, Ordering::SeqCst);
    }

    /// Whether workers still read: one has read since the last call, or sleeps here.
    pub(super) fn is_still_read_by_worker(&self) -> bool {
        self.read_by_worker.swap(false, Ordering::SeqCst) || self.election.is_any()
    }

    /// A worker goes to sleep here: it becomes the reader, unless another one is.
    pub(super) fn join(&self, waker: &Arc<Waker>) {
        if self.election.join(waker) {
            self.read_by_worker.store(true, Ordering::Release);
        }
    }

    /// A worker that slept here leaves. If nobody is left to read, the reading thread checks from
    /// time to time again.
    pub(super) fn leave(&self, waker: &Arc<Waker>) {
        if self.election.leave(waker) {
            // It may come back immediately: the reading thread must not come in between.
            self.read_by_worker.store(true, Ordering::Relaxed);
            self.reading.wake();
        }
    }

    /// Shuts the connection down in both directions.
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
    /// Reads while bytes are left that were read ahead, and while `go_on` returns `true`. Returns
    /// whether something has arrived.
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

    /// Reads until a frame is complete, part of a chunk has arrived, or nothing more is available.
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
                        // The next flare may have begun since the header arrived.
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

/// Returns the stage that follows a header.
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
            // It has no payload, and nothing else of its flare follows.
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

/// Reads whatever has arrived; 0 if nothing has.
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

//! The reading end of one connection, which whoever has time may drive.
//!
//! A worker that waits for a message reads it from the socket itself, without blocking: that
//! spares two wake-ups, of the connection's own thread and by it. The connection's thread reads
//! when no worker does. While workers are at it, it only looks in from time to time, and it is
//! called back by the last one that leaves ([`super::attendance`]).

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, poll};
use socket2::Socket;

use super::attendance::Attendance;
use super::peers::Peers;
use crate::local::Bell;
use crate::remote::inbox::{Chunk, Inbox, Incoming};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Holds a header and a small message, so that both come with one system call; most of a large
/// payload goes past it.
const READ_AHEAD: usize = 16 << 10;
/// How often the connection's thread looks whether workers still read.
const LOOK_IN: Duration = Duration::from_millis(1);
/// Longest sleep of the connection's thread while workers sleep on the connection.
const LONGEST: Duration = Duration::from_millis(100);

/// Why nothing more can be read.
pub(super) type End = String;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Intake {
    stream: Socket,
    pack: u32,
    /// Which of the pack's connections it is.
    number: u64,
    progress: Mutex<Progress>,
    /// A worker has read here since the thread last looked.
    helped: AtomicBool,
    pub(super) attendance: Attendance,
    /// The thread sleeps until nobody does.
    called_off: AtomicBool,
    thread: OnceLock<Thread>,
}

#[derive(Debug)]
struct Progress {
    /// Of the present flare. What comes of an older one is dropped.
    inbox: Arc<Inbox>,
    /// What was read beyond what was asked for lies in `start..end`.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
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
    Ended(End),
}

/// How far one step got.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A message or a part of one is there.
    Forward,
    /// Nothing more has come yet, or nothing will.
    Stuck,
}

impl Intake {
    /// The stream must not block; all frames must come from this pack, whose connections have
    /// different numbers.
    pub(super) fn new(stream: Socket, (pack, number): (u32, u64), inbox: Arc<Inbox>) -> Self {
        Self {
            stream,
            pack,
            number,
            progress: Mutex::new(Progress {
                inbox,
                buffer: vec![0; READ_AHEAD].into(),
                start: 0,
                end: 0,
                stage: Stage::Header,
            }),
            helped: AtomicBool::new(false),
            attendance: Attendance::default(),
            called_off: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }

    /// The next flare begins: what is read from now on is for its inbox.
    pub(super) fn renew(&self, inbox: &Arc<Inbox>) {
        self.progress.lock().inbox = Arc::clone(inbox);
    }

    /// A worker reads what has come, unless someone else does. Never blocks; `true` when
    /// something has come.
    pub(super) fn help(&self, peers: &Peers) -> bool {
        if !self.helped.load(Ordering::Relaxed) {
            self.helped.store(true, Ordering::Relaxed);
        }
        let progress = self.progress.try_lock();
        progress.is_some_and(|progress| self.read_on(progress, peers))
    }

    /// A worker that slept on the connection reads what has come; `false` when that is nothing.
    /// Waits for whoever is reading, who stops after the next frame or part of a chunk.
    pub(super) fn read_here(&self, peers: &Peers) -> bool {
        self.read_on(self.progress.lock(), peers)
    }

    fn read_on(&self, mut progress: MutexGuard<'_, Progress>, peers: &Peers) -> bool {
        if matches!(progress.stage, Stage::Ended(_)) {
            return false;
        }
        let mut forward = false;
        // What was read ahead must not stay behind: nothing would tell the thread of it.
        while progress.step(self, peers) == Step::Forward {
            forward = true;
            if progress.start == progress.end {
                break;
            }
        }
        if matches!(progress.stage, Stage::Ended(_)) {
            drop(progress);
            self.relieve();
        }
        forward
    }

    /// The worker goes to sleep: the connection's thread is to read again.
    pub(super) fn relieve(&self) {
        if self.helped.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// The connection's own thread, until its end.
    pub(super) fn read(&self, peers: &Peers) -> End {
        self.thread.get_or_init(thread::current);
        loop {
            if let Stage::Ended(end) = &self.progress.lock().stage {
                return end.clone();
            }
            if self.helped.swap(false, Ordering::AcqRel) {
                // A worker reads. For the time being: calling back at every message would cost
                // more than it spares.
                thread::park_timeout(LOOK_IN);
                self.called_off.store(true, Ordering::SeqCst);
                if self.attendance.is_any() {
                    thread::park_timeout(LONGEST);
                    self.helped.store(true, Ordering::Relaxed);
                }
                self.called_off.store(false, Ordering::SeqCst);
                continue;
            }
            let mut readable = [PollFd::new(&self.stream, PollFlags::IN)];
            // Interrupted or not, the next step tells what there is.
            let _ = poll(&mut readable, None);
            if self.helped.load(Ordering::Acquire) {
                continue;
            }
            let mut progress = self.progress.lock();
            while progress.step(self, peers) == Step::Forward
                && (progress.start < progress.end || !self.helped.load(Ordering::Relaxed))
            {
            }
        }
    }

    /// A worker sleeps here: it reads, or another one does.
    pub(super) fn attend(&self, bell: &Arc<Bell>) {
        if self.attendance.attend(bell) {
            self.helped.store(true, Ordering::Release);
        }
    }

    /// The worker has what it waited for. When nobody is left to read, the connection's thread
    /// looks in from time to time again.
    pub(super) fn leave(&self, bell: &Arc<Bell>) {
        if self.attendance.leave(bell)
            && self.called_off.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

impl AsFd for Intake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Progress {
    /// Reads until a frame is whole, part of a chunk has come, or nothing more is there.
    fn step(&mut self, intake: &Intake, peers: &Peers) -> Step {
        match self.try_step(intake, peers) {
            Ok(step) => step,
            Err(end) => {
                self.stage = Stage::Ended(end);
                Step::Stuck
            }
        }
    }

    fn try_step(&mut self, intake: &Intake, peers: &Peers) -> Result<Step, End> {
        let stream = &intake.stream;
        loop {
            match &mut self.stage {
                Stage::Ended(_) => return Ok(Step::Stuck),
                Stage::Header => {
                    if self.end - self.start < HEADER_SIZE {
                        if !self.read_ahead(stream)? {
                            return Ok(Step::Stuck);
                        }
                        continue;
                    }
                    let bytes = &self.buffer[self.start..self.start + HEADER_SIZE];
                    self.start += HEADER_SIZE;
                    self.stage = begin(bytes, intake.pack, &self.inbox)?;
                }
                Stage::Chunk { chunk, filled } => {
                    let place = &mut chunk.bytes()[*filled..];
                    let left = place.len();
                    let here = take(&self.buffer, &mut self.start, self.end, place);
                    *filled += here;
                    if here < left {
                        match read(stream, &mut place[here..])? {
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
                    let place = &mut payload[*filled..];
                    *filled += take(&self.buffer, &mut self.start, self.end, place);
                    if *filled < payload.len() {
                        if !self.read_ahead(stream)? {
                            return Ok(Step::Stuck);
                        }
                        continue;
                    }
                    match header.kind {
                        Kind::Goodbye => peers.finished(header, intake.number),
                        _ => self.inbox.notice(header, payload),
                    }
                    self.stage = Stage::Header;
                    return Ok(Step::Forward);
                }
                Stage::Skip(left) => {
                    let here = (self.end - self.start).min(*left);
                    self.start += here;
                    *left -= here;
                    if *left == 0 {
                        self.stage = Stage::Header;
                    } else if !self.read_ahead(stream)? {
                        return Ok(Step::Stuck);
                    }
                }
            }
        }
    }

    /// Reads more into the buffer; `false` when nothing has come.
    fn read_ahead(&mut self, stream: &Socket) -> Result<bool, End> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let got = read(stream, &mut self.buffer[self.end..])?;
        self.end += got;
        Ok(got > 0)
    }
}

/// What follows a header.
fn begin(bytes: &[u8], pack: u32, inbox: &Inbox) -> Result<Stage, End> {
    let refused = |error: WireError| -> End {
        inbox.refused(Some(pack), &error);
        error.to_string()
    };
    let header = Header::decode(bytes).map_err(refused)?;
    if header.pack != pack {
        return Err(refused(WireError::Invalid {
            field: "sending pack",
            value: header.pack.into(),
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
        Incoming::Chunk(chunk) => Stage::Chunk { chunk, filled: 0 },
        Incoming::Notice(length) => Stage::Notice {
            header,
            payload: vec![0; length],
            filled: 0,
        },
        Incoming::Skip(length) => Stage::Skip(length),
    })
}

/// Moves what was read ahead to its place; how much.
fn take(buffer: &[u8], start: &mut usize, end: usize, place: &mut [u8]) -> usize {
    let count = (end - *start).min(place.len());
    place[..count].copy_from_slice(&buffer[*start..*start + count]);
    *start += count;
    count
}

/// Reads what has come; 0 when nothing has.
fn read(mut stream: &Socket, place: &mut [u8]) -> Result<usize, End> {
    loop {
        match stream.read(place) {
            Ok(0) => return Err("its connection ended without a goodbye".to_owned()),
            Ok(count) => return Ok(count),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock => return Ok(0),
                _ => return Err(format!("its connection broke: {error}")),
            },
        }
    }
}

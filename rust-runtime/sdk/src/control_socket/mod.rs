//! The program's end of the control socket: sends whole frames, in order, with as few system calls as possible.
//!
//! There is no writer thread. A thread that appends a frame while nobody is writing writes everything that is queued,
//! including what others append meanwhile; the others return immediately. Frames that become ready together therefore
//! leave in one `send`, and a lone frame leaves immediately. A frame that is not urgent leaves with the next one, or a
//! moment later ([`ControlSocket::send_event_later`]).
//!
//! Log lines arrive from inside `write(2)` calls of user code, so [`ControlSocket::log`] never
//! allocates: both buffers have their full capacity from the start, and a full buffer makes the
//! writer wait (back-pressure), not grow.

mod reentrancy_guard;

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use burst_protocol::{LINE, LogStream, OutgoingEvent, Timestamp, frame};
use serde::Serialize;

pub(crate) use reentrancy_guard::ReentrancyGuard;

use crate::json::{push_escaped, push_number};

/// Bytes that may wait for the writer. Larger frames are sent from the caller's own buffer.
const BUFFER: usize = 256 * 1024;

/// Bytes of a `log` event besides its line's, each of which takes at most six once escaped.
const LOG_ENVELOPE: usize = 192;

/// How long a delayed frame may wait for others.
const LATER: Duration = Duration::from_millis(20);

/// How often, and for how long each time, `send_at_exit` waits for a thread that is in the middle of another frame. On
/// a busy machine that thread may have to wait for a processor, and without the frame the cause of the process's end
/// would be lost; but if nobody reads the socket, the process must end in time for its peers to learn of it within a
/// second.
const EXIT_LOOKS: (u32, Duration) = (500, Duration::from_millis(1));

struct State {
    waiting: Vec<u8>,
    spare: Vec<u8>,
    writing: bool,
    corks: usize,
    /// The process that owns `waiting` and `corks`.
    process: u32,
    /// Whether a frame waits that [`ControlSocket::run_delayed_sends`] must send.
    late: bool,
    broken: bool,
}

impl State {
    /// In a process that a worker has forked, drops the frames that its parent holds back: the parent sends them.
    fn forget_parents(&mut self) {
        let own = process::id();
        if self.process != own {
            self.process = own;
            self.corks = 0;
            self.waiting.clear();
        }
    }
}

/// Sends frames to the runtime.
pub(crate) struct ControlSocket {
    socket: OwnedFd,
    state: Mutex<State>,
    room: Condvar,
    late: Condvar,
    /// The number of the run that all events belong to.
    run: AtomicU64,
}

impl ControlSocket {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            state: Mutex::new(State {
                waiting: Vec::with_capacity(BUFFER),
                spare: Vec::with_capacity(BUFFER),
                writing: false,
                corks: 0,
                process: process::id(),
                late: false,
                broken: false,
            }),
            room: Condvar::new(),
            late: Condvar::new(),
            run: AtomicU64::new(0),
        }
    }

    /// Begins another run: events from now on belong to it.
    pub(crate) fn begin(&self, run: u64) {
        self.run.store(run, Ordering::Relaxed);
    }

    /// The number of the current run. Can be called from a signal handler.
    pub(crate) fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }

    /// Sends an event made of plain data, which always has a JSON form.
    pub(crate) fn send_event(&self, event: &impl Serialize) {
        if let Ok(body) = self.body(event) {
            self.send(&body);
        }
    }

    /// Like [`send_event`](Self::send_event), in the same order, but not immediately: a system call for each such
    /// event, and a runtime woken each time, would cost the workers more than the event is worth.
    pub(crate) fn send_event_later(&self, event: &impl Serialize) {
        if let Ok(body) = self.body(event) {
            self.send_later(&body);
        }
    }

    fn body(&self, event: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        let run = self.run();
        serde_json::to_vec(&OutgoingEvent { run, event })
    }

    /// Sends one frame holding `body`, which is JSON.
    pub(crate) fn send(&self, body: &[u8]) {
        let _guard = ReentrancyGuard::enter();
        let header = frame::header(body.len());
        if header.len() + body.len() > BUFFER / 2 {
            self.send_large(&header, body);
            return;
        }
        if let Some(state) = self.put_whole(&header, body) {
            self.leave(state);
        }
    }

    /// Sends a small frame with the next one, or a moment later.
    fn send_later(&self, body: &[u8]) {
        let _guard = ReentrancyGuard::enter();
        if let Some(mut state) = self.put_whole(&frame::header(body.len()), body)
            && !state.late
        {
            state.late = true;
            self.late.notify_one();
        }
    }

    /// Sends delayed frames. Never returns.
    pub(crate) fn run_delayed_sends(&self) -> ! {
        let _guard = ReentrancyGuard::enter();
        loop {
            let mut state = self.lock();
            while !state.late {
                state = self
                    .late
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            thread::sleep(LATER);
            let mut state = self.lock();
            state.late = false;
            self.leave(state);
        }
    }

    /// Sends one worker's line (at most [`LINE`] bytes) without allocating.
    pub(crate) fn log(&self, worker: u32, stream: LogStream, line: &[u8], at: Timestamp) {
        let _guard = ReentrancyGuard::enter();
        let line = &line[..line.len().min(LINE)];
        let put = self.put(LOG_ENVELOPE + 6 * line.len(), |waiting| {
            let start = waiting.len();
            waiting.extend_from_slice(&[0; frame::HEADER]);
            waiting.extend_from_slice(br#"{"event":"log","run":"#);
            push_number(waiting, self.run());
            waiting.extend_from_slice(br#","worker":"#);
            push_number(waiting, worker.into());
            waiting.extend_from_slice(br#","stream":""#);
            waiting.extend_from_slice(stream.name().as_bytes());
            waiting.extend_from_slice(br#"","text":""#);
            push_escaped(waiting, line);
            waiting.extend_from_slice(br#"","at":"#);
            push_number(waiting, at.as_micros());
            waiting.push(b'}');
            frame::seal(&mut waiting[start..]);
        });
        if let Some(state) = put {
            self.leave(state);
        }
    }

    /// Holds frames back until [`Cork`] is dropped, so that several leave in one write.
    pub(crate) fn cork(&self) -> Cork<'_> {
        self.lock().corks += 1;
        Cork { control: self }
    }

    /// Sends the frames held back by corks, which stay in place.
    pub(crate) fn uncork(&self) {
        let _guard = ReentrancyGuard::enter();
        let state = self.lock();
        if !state.writing {
            drop(self.drain(state));
        }
    }

    /// Sends `frame` (header included) from a signal handler or at exit: no allocation, no unbounded wait. Gives up if
    /// another thread is stuck in the middle of a frame.
    pub(crate) fn send_at_exit(&self, frame: &[u8]) {
        let inside = ReentrancyGuard::is_inside();
        let _guard = ReentrancyGuard::enter();
        let (looks, pause) = EXIT_LOOKS;
        for _ in 0..looks {
            let state = match self.state.try_lock() {
                Ok(state) => Some(state),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut state) = state.filter(|state| !state.writing) {
                state.forget_parents();
                if self
                    .transmit(&state.waiting)
                    .and_then(|()| self.transmit(frame))
                    .is_err()
                {
                    state.broken = true;
                }
                state.waiting.clear();
                return;
            }
            if inside {
                return;
            }
            thread::sleep(pause);
        }
    }

    fn put_whole(&self, header: &[u8], body: &[u8]) -> Option<MutexGuard<'_, State>> {
        self.put(header.len() + body.len(), |waiting| {
            waiting.extend_from_slice(header);
            waiting.extend_from_slice(body);
        })
    }

    /// Queues a frame behind those that wait; returns `None` if the connection is broken.
    fn put(&self, length: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if state.corks > 0 {
            state.forget_parents();
        }
        while !state.broken && state.waiting.len() + length > BUFFER {
            state = if state.writing {
                self.wait(state)
            } else {
                self.drain(state)
            };
        }
        if state.broken {
            return None;
        }
        fill(&mut state.waiting);
        Some(state)
    }

    /// Sends the waiting frames, unless another thread already does or they are held back.
    fn leave(&self, state: MutexGuard<'_, State>) {
        if !state.writing && state.corks == 0 {
            drop(self.drain(state));
        }
    }

    /// Sends a frame too large for the buffer from the caller's memory, after those that wait.
    fn send_large(&self, header: &[u8], body: &[u8]) {
        let mut state = self.lock();
        while state.writing {
            state = self.wait(state);
        }
        if state.broken {
            return;
        }
        state.writing = true;
        let before = mem::take(&mut state.waiting);
        state.waiting = mem::take(&mut state.spare);
        drop(state);
        let sent = [&before, header, body]
            .into_iter()
            .try_for_each(|bytes| self.transmit(bytes));
        let mut state = self.lock();
        state.spare = before;
        state.spare.clear();
        state.broken |= sent.is_err();
        state.writing = false;
        drop(self.drain(state));
    }

    fn drain<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.writing = true;
        while !state.waiting.is_empty() && !state.broken {
            let mut batch = mem::take(&mut state.waiting);
            state.waiting = mem::take(&mut state.spare);
            drop(state);
            let sent = self.transmit(&batch);
            batch.clear();
            state = self.lock();
            state.spare = batch;
            state.broken |= sent.is_err();
            self.room.notify_all();
        }
        state.writing = false;
        self.room.notify_all();
        state
    }

    fn transmit(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            // SAFETY: the pointer and length are those of a live slice, and the descriptor is
            // owned by `self`.
            let sent = unsafe {
                libc::send(
                    self.socket.as_raw_fd(),
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    libc::MSG_NOSIGNAL,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.room
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds frames back in the buffer until it is dropped, or the buffer is full.
pub(crate) struct Cork<'a> {
    control: &'a ControlSocket,
}

impl Drop for Cork<'_> {
    fn drop(&mut self) {
        let _guard = ReentrancyGuard::enter();
        let mut state = self.control.lock();
        state.corks = state.corks.saturating_sub(1);
        self.control.leave(state);
    }
}

#[cfg(test)]
mod tests;

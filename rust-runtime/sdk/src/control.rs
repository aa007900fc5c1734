//! The program's end of the control socket: whole frames out, in order, with as few system calls
//! as there is work for.
//!
//! There is no writer thread. Whoever appends a frame while nobody is writing writes everything
//! that is there, also what others append meanwhile; the others return at once. Frames that become
//! ready together therefore leave in one `send`, and a lone frame leaves immediately. What nobody
//! waits for leaves with the next frame, or a moment later ([`Control::send_later`]).
//!
//! Log lines arrive from inside `write(2)` calls of user code, so [`Control::log`] never
//! allocates: both buffers have their full capacity from the start, and a full buffer makes the
//! writer wait (back-pressure), not grow.

use std::cell::Cell;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::json::{push_escaped, push_number};
use crate::protocol::LogStream;

/// Bytes that may wait for the writer. Larger frames are sent from the caller's own buffer.
const BUFFER: usize = 256 * 1024;

/// The largest line [`Control::log`] takes; six bytes each once escaped, in the worst case.
pub(crate) const LINE_LIMIT: usize = 8 * 1024;

const LOG_ENVELOPE: usize = 160;

/// How long a frame that is sent later may wait for company.
const LATER: Duration = Duration::from_millis(20);

/// How often last words look whether another thread is still in the middle of a frame, and how long they wait each time.
/// A busy machine may keep that thread from its processor, and then nobody would know who ended the process; but where
/// nobody reads, the process must end in time for its peers to hear of it within a second.
const LAST_LOOKS: (u32, Duration) = (500, Duration::from_millis(1));

thread_local! {
    /// Set while this thread is inside the control channel or its log capture. A signal handler or
    /// an allocator that writes to stderr meanwhile must not come back in.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as inside the channel until dropped.
pub(crate) struct Busy {
    before: bool,
}

impl Busy {
    pub(crate) fn enter() -> Self {
        Self {
            before: BUSY.replace(true),
        }
    }

    /// Enters unless this thread is inside already.
    pub(crate) fn try_enter() -> Option<Self> {
        (!BUSY.get()).then(Self::enter)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(self.before);
    }
}

struct State {
    waiting: Vec<u8>,
    spare: Vec<u8>,
    writing: bool,
    held: usize,
    /// Whether something waits that only [`Control::keep_sending`] may send.
    late: bool,
    broken: bool,
}

/// Sends frames to the runtime.
pub(crate) struct Control {
    socket: OwnedFd,
    state: Mutex<State>,
    room: Condvar,
    late: Condvar,
}

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            state: Mutex::new(State {
                waiting: Vec::with_capacity(BUFFER),
                spare: Vec::with_capacity(BUFFER),
                writing: false,
                held: 0,
                late: false,
                broken: false,
            }),
            room: Condvar::new(),
            late: Condvar::new(),
        }
    }

    /// Sends one frame holding `body`, which is JSON.
    pub(crate) fn send(&self, body: &[u8]) {
        let _busy = Busy::enter();
        let header = frame_header(body.len());
        if header.len() + body.len() > BUFFER / 2 {
            self.send_large(&header, body);
            return;
        }
        if let Some(state) = self.put_whole(&header, body) {
            self.leave(state);
        }
    }

    /// Sends a small frame in its turn, but not for its own sake: a system call each, and a runtime
    /// that is woken each time, would take from the workers what the frame is worth.
    pub(crate) fn send_later(&self, body: &[u8]) {
        let _busy = Busy::enter();
        if let Some(mut state) = self.put_whole(&frame_header(body.len()), body)
            && !state.late
        {
            state.late = true;
            self.late.notify_one();
        }
    }

    /// Sends what was to be sent later. Never comes back.
    pub(crate) fn keep_sending(&self) -> ! {
        let _busy = Busy::enter();
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

    /// Sends one worker's line (at most [`LINE_LIMIT`] bytes) without allocating.
    pub(crate) fn log(&self, worker: u32, stream: LogStream, line: &[u8], at: u64) {
        let _busy = Busy::enter();
        let line = &line[..line.len().min(LINE_LIMIT)];
        let put = self.put(LOG_ENVELOPE + 6 * line.len(), |waiting| {
            let start = waiting.len();
            waiting.extend_from_slice(&[0; 4]);
            waiting.extend_from_slice(br#"{"event":"log","worker":"#);
            push_number(waiting, worker.into());
            waiting.extend_from_slice(br#","stream":""#);
            waiting.extend_from_slice(stream.name().as_bytes());
            waiting.extend_from_slice(br#"","text":""#);
            push_escaped(waiting, line);
            waiting.extend_from_slice(br#"","at":"#);
            push_number(waiting, at);
            waiting.push(b'}');
            let header = frame_header(waiting.len() - start - 4);
            waiting[start..start + 4].copy_from_slice(&header);
        });
        if let Some(state) = put {
            self.leave(state);
        }
    }

    /// Keeps frames back until [`Hold`] is dropped, so that a burst of them leaves in one write.
    pub(crate) fn hold(&self) -> Hold<'_> {
        self.lock().held += 1;
        Hold { control: self }
    }

    /// Sends `frame` (header included) from a signal handler or at exit: no allocation, no
    /// unbounded wait. Gives up where another thread is stuck in the middle of a frame.
    pub(crate) fn last_words(&self, frame: &[u8]) {
        let inside = BUSY.get();
        let _busy = Busy::enter();
        let (looks, pause) = LAST_LOOKS;
        for _ in 0..looks {
            let state = match self.state.try_lock() {
                Ok(state) => Some(state),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut state) = state.filter(|state| !state.writing) {
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

    /// Puts a frame behind those that wait; none when nobody reads them any more.
    fn put(&self, length: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
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

    /// Sends what waits, unless somebody does already or it is held.
    fn leave(&self, state: MutexGuard<'_, State>) {
        if !state.writing && state.held == 0 {
            drop(self.drain(state));
        }
    }

    /// A frame too large for the buffer goes out from the caller's memory, after what waits.
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

/// Frames stay in the buffer while one of these lives (or until the buffer is full).
pub(crate) struct Hold<'a> {
    control: &'a Control,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let _busy = Busy::enter();
        let mut state = self.control.lock();
        state.held -= 1;
        self.control.leave(state);
    }
}

fn frame_header(length: usize) -> [u8; 4] {
    // Bodies are bounded far below 4 GiB by the output and line limits.
    (length as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    fn pair() -> (Arc<Control>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        (Arc::new(Control::new(ours.into())), theirs)
    }

    fn frame(socket: &mut UnixStream) -> serde_json::Value {
        let mut header = [0; 4];
        socket.read_exact(&mut header).unwrap();
        let mut body = vec![0; u32::from_le_bytes(header) as usize];
        socket.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn a_log_line_is_escaped_and_never_invalid_utf8() {
        let (control, mut socket) = pair();
        control.log(3, LogStream::Stderr, b"a\"b\\c\td\x01\xff \xe2\x82\xac", 17);
        let event = frame(&mut socket);
        assert_eq!(event["worker"], 3);
        assert_eq!(event["stream"], "stderr");
        assert_eq!(event["text"], "a\"b\\c\td\u{1}\u{fffd} €");
        assert_eq!(event["at"], 17);
    }

    #[test]
    fn the_longest_worst_line_fits_its_reservation() {
        let (control, mut socket) = pair();
        control.log(u32::MAX, LogStream::Stdout, &[1; LINE_LIMIT + 1], u64::MAX);
        let line = frame(&mut socket)["text"].as_str().unwrap().len();
        assert_eq!(line, LINE_LIMIT);
        assert_eq!(control.lock().spare.capacity(), BUFFER);
        assert_eq!(control.lock().waiting.capacity(), BUFFER);
    }

    #[test]
    fn held_frames_leave_when_the_last_hold_ends() {
        let (control, mut socket) = pair();
        let (first, second) = (control.hold(), control.hold());
        control.send(b"1");
        control.send(b"2");
        drop(first);
        socket.set_nonblocking(true).unwrap();
        assert_eq!(
            socket.read(&mut [0]).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        socket.set_nonblocking(false).unwrap();
        drop(second);
        assert_eq!(frame(&mut socket), 1);
        assert_eq!(frame(&mut socket), 2);
    }

    #[test]
    fn what_is_sent_later_leaves_with_the_next_frame_or_by_itself() {
        let (control, mut socket) = pair();
        control.send_later(b"1");
        socket.set_nonblocking(true).unwrap();
        assert_eq!(
            socket.read(&mut [0]).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        socket.set_nonblocking(false).unwrap();
        control.send(b"2");
        assert_eq!(frame(&mut socket), 1);
        assert_eq!(frame(&mut socket), 2);
        let _detached = thread::spawn({
            let control = Arc::clone(&control);
            move || control.keep_sending()
        });
        for number in 3..6 {
            control.send_later(number.to_string().as_bytes());
            assert_eq!(frame(&mut socket), number);
        }
    }

    #[test]
    fn many_threads_large_and_small_frames_keep_their_own_order() {
        let (control, mut socket) = pair();
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let control = Arc::clone(&control);
                thread::spawn(move || {
                    for count in 0..200 {
                        let padding = if count % 50 == 0 { 200 * 1024 } else { 100 };
                        let body = serde_json::json!([writer, count, "x".repeat(padding)]);
                        control.send(body.to_string().as_bytes());
                    }
                })
            })
            .collect();
        let mut next = [0; 8];
        for _ in 0..8 * 200 {
            let event = frame(&mut socket);
            let writer = event[0].as_u64().unwrap() as usize;
            assert_eq!(event[1], next[writer]);
            next[writer] += 1;
        }
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
    }

    #[test]
    fn a_closed_socket_drops_frames_and_blocks_nobody() {
        let (control, socket) = pair();
        drop(socket);
        for _ in 0..10_000 {
            control.log(0, LogStream::Stdout, &[b'x'; 1000], 0);
        }
        control.last_words(b"frame");
    }

    #[test]
    fn last_words_follow_what_waited() {
        let (control, mut socket) = pair();
        let _hold = control.hold();
        control.send(b"1");
        control.last_words(&[1, 0, 0, 0, b'2']);
        assert_eq!(frame(&mut socket), 1);
        assert_eq!(frame(&mut socket), 2);
    }

    #[test]
    fn last_words_wait_for_a_thread_that_is_kept_from_its_processor() {
        let (control, mut socket) = pair();
        let writing = control.lock();
        let dying = thread::spawn({
            let control = Arc::clone(&control);
            move || control.last_words(&[1, 0, 0, 0, b'1'])
        });
        // Longer than a thread waits for its turn by rights.
        thread::sleep(Duration::from_millis(150));
        drop(writing);
        assert_eq!(frame(&mut socket), 1);
        dying.join().unwrap();
    }
}

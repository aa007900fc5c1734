//! Turns a worker's output, as its thread writes it to descriptors 1 and 2, into that worker's log events.
//!
//! The program's own `write` and `writev` (see [`crate::interpose`]) hand every write to
//! [`take`]. Writes of other threads fall through to the pipes. Partial lines wait in the
//! worker's buffer; everything is allocated when the worker starts, nothing while it writes.

use std::cell::Cell;
use std::io::Write as _;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use burst_protocol::{LINE, LINE_COST, LOG_LIMIT, LogStream, Timestamp};

use crate::control_socket::{ControlSocket, ReentrancyGuard};

thread_local! {
    static CURRENT: Cell<*mut Capture> = const { Cell::new(ptr::null_mut()) };
}

struct Capture {
    control: Arc<ControlSocket>,
    worker: u32,
    lines: [Line; 2],
    remaining: usize,
    truncated: bool,
    /// The last line of a truncated log.
    notice: String,
}

struct Line {
    stream: LogStream,
    bytes: Vec<u8>,
}

impl Capture {
    fn push(&mut self, stream: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = LINE - self.lines[stream].bytes.len();
            let end = bytes.iter().take(room).position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(bytes.len().min(room));
            self.lines[stream].bytes.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if end.is_some() {
                bytes = &bytes[1..];
                self.emit(stream);
            } else if self.lines[stream].bytes.len() == LINE {
                self.emit(stream);
                // The line's own newline may follow exactly here: it must not become a blank line.
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
    }

    fn emit(&mut self, stream: usize) {
        let line = &mut self.lines[stream];
        if let Some(rest) = self.remaining.checked_sub(line.bytes.len() + LINE_COST) {
            self.remaining = rest;
            self.control
                .log(self.worker, line.stream, &line.bytes, Timestamp::now());
        } else if !self.truncated {
            self.truncated = true;
            let notice = self.notice.as_bytes();
            self.control
                .log(self.worker, line.stream, notice, Timestamp::now());
        }
        line.bytes.clear();
    }

    fn finish(&mut self) {
        for stream in 0..self.lines.len() {
            if !self.lines[stream].bytes.is_empty() {
                self.emit(stream);
            }
        }
    }
}

/// Captures this thread's output until dropped, then sends the last partial lines.
pub(crate) struct CaptureGuard {
    capture: *mut Capture,
    /// The pointer belongs to this thread alone.
    _not_send: PhantomData<*mut ()>,
}

/// Starts capturing this thread's output as that of `worker`, which may log up to `limit` bytes. The runtime enforces
/// limits below [`LOG_LIMIT`]: it needs the rest to find out why an allocation failed.
pub(crate) fn begin(control: Arc<ControlSocket>, worker: u32, limit: usize) -> CaptureGuard {
    let limit = limit.max(LOG_LIMIT);
    let line = |stream| Line {
        stream,
        bytes: Vec::with_capacity(LINE),
    };
    let capture = Box::into_raw(Box::new(Capture {
        control,
        worker,
        lines: [line(LogStream::Stdout), line(LogStream::Stderr)],
        remaining: limit,
        truncated: false,
        notice: format!(
            "[burst] further output of this worker is left out: it exceeds {} MiB",
            limit >> 20
        ),
    }));
    CURRENT.set(capture);
    CaptureGuard {
        capture,
        _not_send: PhantomData,
    }
}

impl Drop for CaptureGuard {
    fn drop(&mut self) {
        // What `print!` left without a newline waits in the standard library's shared buffer.
        let _ = std::io::stdout().flush();
        flush();
        CURRENT.set(ptr::null_mut());
        // SAFETY: the pointer came from `Box::into_raw` in `begin`, nobody else frees it, and the
        // thread-local that named it has just been cleared.
        drop(unsafe { Box::from_raw(self.capture) });
    }
}

/// The worker whose thread this is.
pub(crate) fn current_worker() -> Option<u32> {
    let capture = CURRENT.get();
    // SAFETY: not null means it points to the live capture of this very thread; `worker` is never
    // written after construction, so reading it also from a signal handler is sound.
    (!capture.is_null()).then(|| unsafe { (*capture).worker })
}

/// Takes a write to descriptor 1 or 2 if this thread is a worker's; returns whether it did.
pub(crate) fn take(descriptor: i32, bytes: &[u8]) -> bool {
    let capture = CURRENT.get();
    if capture.is_null() {
        return false;
    }
    // Already inside: a signal handler or allocator writes while this thread logs.
    let Some(_guard) = ReentrancyGuard::try_enter() else {
        return false;
    };
    // SAFETY: the capture belongs to this thread and lives until its guard is dropped on it;
    // `ReentrancyGuard` excludes a second reference from a handler that interrupts this one.
    unsafe { (*capture).push(usize::from(descriptor == 2), bytes) };
    true
}

/// Sends this thread's partial lines, if it is a worker's.
pub(crate) fn flush() {
    let capture = CURRENT.get();
    if capture.is_null() {
        return;
    }
    if let Some(_guard) = ReentrancyGuard::try_enter() {
        // SAFETY: as in `take`.
        unsafe { (*capture).finish() };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// The lines a worker's thread leaves behind when it runs `body`.
    fn lines_of(body: impl FnOnce() + Send + 'static) -> Vec<(String, String)> {
        lines_within(LOG_LIMIT, body)
    }

    fn lines_within(limit: usize, body: impl FnOnce() + Send + 'static) -> Vec<(String, String)> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let control = Arc::new(ControlSocket::new(ours.into()));
        let worker = thread::spawn(move || {
            // The test harness prints to the same buffer. What it left there would be taken for this worker's output.
            let mut stdout = std::io::stdout().lock();
            stdout.flush().unwrap();
            let _capture = begin(control, 7, limit);
            body();
        });
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).unwrap();
        worker.join().unwrap();
        let mut lines = Vec::new();
        let mut rest = received.as_slice();
        while let Some((header, body)) = rest.split_first_chunk::<4>() {
            let (body, after) = body.split_at(u32::from_le_bytes(*header) as usize);
            let event: serde_json::Value = serde_json::from_slice(body).unwrap();
            assert_eq!(event["worker"], 7);
            let text = |field: &str| event[field].as_str().unwrap().to_owned();
            lines.push((text("stream"), text("text")));
            rest = after;
        }
        lines
    }

    fn stdout(lines: &[&str]) -> Vec<(String, String)> {
        lines
            .iter()
            .map(|line| ("stdout".to_owned(), (*line).to_owned()))
            .collect()
    }

    #[test]
    fn lines_are_split_and_partial_ones_come_at_the_end() {
        let lines = lines_of(|| {
            assert!(take(1, b"one\ntw"));
            assert!(take(2, b"aside\n"));
            assert!(take(1, b"o\n\nlast"));
        });
        let mut expected = stdout(&["one", "two", "", "last"]);
        expected.insert(1, ("stderr".to_owned(), "aside".to_owned()));
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_very_long_line_is_cut_into_pieces() {
        let lines = lines_of(|| {
            let mut long = vec![b'x'; 2 * LINE];
            long.push(b'\n');
            assert!(take(1, &long));
        });
        let piece = "x".repeat(LINE);
        assert_eq!(lines, stdout(&[&piece, &piece]));
    }

    #[test]
    fn output_beyond_the_limit_is_replaced_by_one_notice() {
        // The runtime enforces lower limits, as it needs the rest to find out why an allocation failed.
        for (limit, mib) in [(LOG_LIMIT, 1), (0, 1), (3 << 20, 3)] {
            let lines = lines_within(limit, move || {
                for _ in 0..mib * LOG_LIMIT / LINE_COST * 2 {
                    assert!(take(1, b"\n"));
                }
            });
            assert_eq!(lines.len(), mib * LOG_LIMIT / LINE_COST + 1);
            let notice = format!("it exceeds {mib} MiB");
            assert!(lines.last().unwrap().1.ends_with(&notice));
        }
    }

    #[test]
    fn a_thread_that_is_no_workers_is_left_alone() {
        assert!(!take(1, b"to the pipe"));
        assert_eq!(current_worker(), None);
    }

    #[test]
    fn printing_from_a_worker_goes_through_the_interposed_write() {
        let lines = lines_of(|| {
            let mut stderr = std::io::stderr();
            stderr.write_all(b"raw\n").unwrap();
            std::io::stdout().write_all(b"direct\n").unwrap();
        });
        assert!(
            lines.contains(&("stderr".to_owned(), "raw".to_owned())),
            "{lines:?}"
        );
        assert!(
            lines.contains(&("stdout".to_owned(), "direct".to_owned())),
            "{lines:?}"
        );
    }
}

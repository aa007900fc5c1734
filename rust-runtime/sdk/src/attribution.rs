//! Reports to the runtime which worker's thread ended the process, while it ends.
//!
//! Handlers for fatal signals and an `atexit` hook send one pre-formed `dying` frame. They keep the exit status: the
//! handler restores the previous action and lets the signal strike again, so that the standard library's stack-overflow
//! report, a core dump, or the default death follows.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use burst_protocol::frame;
use libc::{c_int, c_void, sigaction, siginfo_t};

use crate::capture;
use crate::control_socket::ControlSocket;

const SIGNALS: [c_int; 5] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
];

/// The socket for the report, and the previous actions of [`SIGNALS`]. Reading a `OnceLock` that is set is one atomic
/// load, which a signal handler may do.
static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// Only the first cause is reported: a stack overflow is a SIGSEGV followed by an abort.
static REPORTED: AtomicBool = AtomicBool::new(false);

struct Installed {
    control: Arc<ControlSocket>,
    before: [sigaction; SIGNALS.len()],
}

/// Installs the handlers, once per process.
pub(crate) fn install(control: Arc<ControlSocket>) {
    // SAFETY: `sigaction` is plain data, for which all zeroes is a valid value.
    let mut before: [sigaction; SIGNALS.len()] = unsafe { std::mem::zeroed() };
    for (signal, before) in SIGNALS.iter().zip(&mut before) {
        // SAFETY: reads the present action into a valid place.
        unsafe { libc::sigaction(*signal, ptr::null(), before) };
    }
    if INSTALLED.set(Installed { control, before }).is_err() {
        return;
    }
    for signal in SIGNALS {
        // SAFETY: as above; the handler has the signature that SA_SIGINFO asks for, does only
        // async-signal-safe work, and runs on the alternate stack which the standard library gives
        // to every thread.
        unsafe {
            let mut action: sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
    // SAFETY: the function lives as long as the program and does not unwind.
    unsafe { libc::atexit(on_exit) };
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    let Some(installed) = INSTALLED.get() else {
        return;
    };
    report(&installed.control, capture::current_worker(), Some(signal));
    // Sends what the worker printed without a newline. Should this get stuck behind another thread, the runtime already
    // knows enough.
    flush(&installed.control);
    let known = SIGNALS.iter().position(|known| *known == signal);
    // A fault strikes again by itself on return; a signal that was sent must be sent again, and
    // only the default action is sure to end the process then.
    // SAFETY: the handler was installed with SA_SIGINFO, so the kernel passes a pointer to a siginfo on this stack.
    let sent = unsafe { (*info).si_code } <= 0;
    // SAFETY: puts back an action that was valid before, or the default one; `raise` may be called
    // from a handler, and its signal waits until this handler returns.
    unsafe {
        match known {
            Some(known) if !sent => {
                libc::sigaction(signal, &installed.before[known], ptr::null_mut());
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}

extern "C" fn on_exit() {
    let (Some(installed), Some(worker)) = (INSTALLED.get(), capture::current_worker()) else {
        return;
    };
    flush(&installed.control);
    report(&installed.control, Some(worker), None);
}

/// Sends this thread's partial lines now: frames that are held back or left to another thread would be lost.
fn flush(control: &ControlSocket) {
    capture::flush();
    control.send_at_exit(&[]);
}

fn report(control: &ControlSocket, worker: Option<u32>, signal: Option<c_int>) {
    if !REPORTED.swap(true, Ordering::Relaxed) {
        let (frame, length) = dying_frame(control.run(), worker, signal);
        control.send_at_exit(&frame[..length]);
    }
}

/// The frame `{"event":"dying","run":R,"worker":W,"signal":S}` without touching the heap.
fn dying_frame(run: u64, worker: Option<u32>, signal: Option<c_int>) -> ([u8; 128], usize) {
    let mut frame = [0; 128];
    let mut length = frame::HEADER;
    let mut push = |bytes: &[u8]| {
        frame[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    push(br#"{"event":"dying","run":"#);
    push_optional(&mut push, Some(run));
    push(br#","worker":"#);
    push_optional(&mut push, worker.map(u64::from));
    push(br#","signal":"#);
    push_optional(&mut push, signal.map(|signal| signal.unsigned_abs().into()));
    push(b"}");
    frame::seal(&mut frame[..length]);
    (frame, length)
}

fn push_optional(push: &mut impl FnMut(&[u8]), number: Option<u64>) {
    let Some(mut number) = number else {
        return push(b"null");
    };
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return push(&digits[first..]);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_dying_workers_partial_line_is_not_held_back() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let control = Arc::new(ControlSocket::new(ours.into()));
        let _cork = control.cork();
        let _capture = capture::begin(Arc::clone(&control), 7, 0);
        assert!(capture::take(2, b"half"));
        flush(&control);
        let message = frame::read(&mut theirs, frame::EVENT_LIMIT)
            .unwrap()
            .unwrap();
        let text = String::from_utf8_lossy(&message);
        assert!(
            text.contains(r#""worker":7,"stream":"stderr","text":"half""#),
            "{text}"
        );
    }

    #[test]
    fn the_frame_follows_the_protocol() {
        let text = |worker, signal| {
            let (frame, length) = dying_frame(u64::MAX - 1, worker, signal);
            let message = frame::read(&mut &frame[..length], length).unwrap().unwrap();
            assert_eq!(message.len(), length - frame::HEADER);
            String::from_utf8(message).unwrap()
        };
        assert_eq!(
            text(Some(30), Some(6)),
            r#"{"event":"dying","run":18446744073709551614,"worker":30,"signal":6}"#
        );
        assert_eq!(
            text(Some(0), None),
            r#"{"event":"dying","run":18446744073709551614,"worker":0,"signal":null}"#
        );
        assert_eq!(
            text(None, Some(11)),
            r#"{"event":"dying","run":18446744073709551614,"worker":null,"signal":11}"#
        );
        text(Some(u32::MAX), Some(i32::MAX));
    }
}

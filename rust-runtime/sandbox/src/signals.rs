//! The signals that end a shim. They are blocked while it makes a sandbox, and stay blocked in the process between it
//! and process 1, which a terminal interrupts together with the shim.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

const TOLD: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Blocks the signals: they stay pending.
pub(crate) fn hold() -> io::Result<()> {
    mask(libc::SIG_BLOCK)
}

/// Unblocks the signals for this process and whatever it executes: a mask outlives an `exec`.
pub(crate) fn release() -> io::Result<()> {
    mask(libc::SIG_UNBLOCK)
}

/// Returns a socket that becomes readable with each signal, those still pending included, and unblocks the signals.
pub(crate) fn hear() -> io::Result<UnixStream> {
    let (told, tell) = UnixStream::pair()?;
    for signal in TOLD {
        pipe::register(signal, tell.try_clone()?)?;
    }
    mask(libc::SIG_UNBLOCK)?;
    Ok(told)
}

fn mask(how: i32) -> io::Result<()> {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the set is made by the first call, and changed and read by the others.
    let failed = unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in TOLD {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(how, signals.as_ptr(), std::ptr::null_mut())
    };
    match failed {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

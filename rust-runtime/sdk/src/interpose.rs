//! The program's own `write` and `writev`.
//!
//! Defining these two symbols in the executable puts them before the C library's, also for the
//! standard library's `println!`. They hand writes of worker threads on descriptors 1 and 2 to
//! [`crate::capture`]; every other write is the plain system call, errno and all. Code inside the
//! C library (`printf`) does not come through here: its output reaches the pack's log.

use std::slice;

use libc::{c_int, c_void, iovec, size_t, ssize_t};

use crate::capture;

/// `write(2)`.
///
/// # Safety
/// As `write(2)`: `buffer` must point to `count` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    if matches!(descriptor, 1 | 2) && count > 0 && count <= isize::MAX as usize {
        // SAFETY: the caller vouches for the buffer, as for the system call.
        let bytes = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), count) };
        if capture::take(descriptor, bytes) {
            return count as ssize_t;
        }
    }
    // SAFETY: the caller's own arguments, passed on unchanged.
    unsafe { libc::syscall(libc::SYS_write, descriptor, buffer, count) as ssize_t }
}

/// `writev(2)`.
///
/// # Safety
/// As `writev(2)`: `vectors` must point to `count` vectors, each of readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(descriptor: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    if matches!(descriptor, 1 | 2) && (1..=1024).contains(&count) {
        // SAFETY: the caller vouches for the vectors, as for the system call.
        let vectors = unsafe { slice::from_raw_parts(vectors, count as usize) };
        let mut taken = 0;
        for vector in vectors.iter().filter(|vector| vector.iov_len > 0) {
            // SAFETY: as above, for the bytes of each vector.
            let bytes =
                unsafe { slice::from_raw_parts(vector.iov_base.cast::<u8>(), vector.iov_len) };
            if !capture::take(descriptor, bytes) {
                break;
            }
            taken += vector.iov_len;
        }
        if taken > 0 {
            return taken as ssize_t;
        }
    }
    // SAFETY: the caller's own arguments, passed on unchanged.
    unsafe { libc::syscall(libc::SYS_writev, descriptor, vectors, count) as ssize_t }
}

/// Makes the linker keep this module's symbols when the SDK is used as a library.
pub(crate) fn keep() {
    std::hint::black_box(write as unsafe extern "C" fn(_, _, _) -> _);
    std::hint::black_box(writev as unsafe extern "C" fn(_, _, _) -> _);
}

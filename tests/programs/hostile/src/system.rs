//! Raw system calls, without a library that prevents mistakes.

use std::io;

/// Makes a system call. Missing arguments of the six are zero.
pub fn call(number: libc::c_long, arguments: &[usize]) -> io::Result<usize> {
    let of = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: none in general, as the arguments can be anything. Pointers that this program passes refer to values that
    // outlive the call; other processes must survive whatever a script asks for.
    let result = unsafe { libc::syscall(number, of(0), of(1), of(2), of(3), of(4), of(5)) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result as usize),
    }
}

/// The address of a value that the kernel reads or writes.
pub fn address<T: ?Sized>(of: &T) -> usize {
    std::ptr::from_ref(of).cast::<()>() as usize
}

/// Creates a child, in which it returns none; in this process it returns the child's id. Only for processes with a
/// single thread.
pub fn fork() -> io::Result<Option<usize>> {
    let child = call(libc::SYS_clone, &[libc::SIGCHLD as usize])?;
    Ok((child != 0).then_some(child))
}

/// Ends this process only.
pub fn exit(code: u64) -> ! {
    loop {
        let _ = call(libc::SYS_exit_group, &[code as usize]);
    }
}

/// Ends this thread; the process continues while it has another one.
pub fn exit_thread() -> ! {
    loop {
        let _ = call(libc::SYS_exit, &[0]);
    }
}

pub fn kill(process: i64, signal: i32) -> io::Result<()> {
    call(libc::SYS_kill, &[process as usize, signal as usize]).map(drop)
}

pub fn parent() -> i64 {
    i64::from(std::os::unix::process::parent_id())
}

pub fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
}

pub fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

//! System calls as they are, without a library that keeps from mistakes.

use std::io;

/// Calls the kernel. What is missing of six arguments is zero.
pub fn call(number: libc::c_long, arguments: &[usize]) -> io::Result<usize> {
    let of = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: none in general, as the arguments may be anything. Pointers that this program passes are to values
    // that live longer than the call; what a script asks for is to be survived by others.
    let result = unsafe { libc::syscall(number, of(0), of(1), of(2), of(3), of(4), of(5)) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result as usize),
    }
}

/// The address of something the kernel is to read or write.
pub fn address<T: ?Sized>(of: &T) -> usize {
    std::ptr::from_ref(of).cast::<()>() as usize
}

/// A child that goes on from here with true; this process goes on with the child's number. Only for processes of one
/// thread.
pub fn fork() -> io::Result<Option<usize>> {
    let child = call(libc::SYS_clone, &[libc::SIGCHLD as usize])?;
    Ok((child != 0).then_some(child))
}

/// Ends this process, nothing else.
pub fn exit(code: u64) -> ! {
    loop {
        let _ = call(libc::SYS_exit_group, &[code as usize]);
    }
}

/// Ends this thread; the process goes on while it has another one.
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

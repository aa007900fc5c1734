//! The harmful deeds.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io;
use std::path::Path;

use burst::Error;

/// The deeds of a worker.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Returns its output.
    Succeed,
    /// Runs for a while and returns its output.
    Hold,
    /// Returns an error.
    Error,
    /// Panics.
    Panic,
    /// Calls `abort`.
    Abort,
    /// Ends the process.
    Exit,
    /// Reads an invalid address.
    Segfault,
    /// Never returns and never calls anything.
    Loop,
    /// Never returns either, but does not use the processor.
    Stall,
    /// Allocates memory until it is stopped.
    EatMemory,
    /// Reads the memory map and the environment of the process above it, and fails if it can.
    Snoop,
    /// Creates a file, and fails if it did not exist yet.
    FailOnce,
    /// Returns how often it was called on its group, and its process.
    Count,
    /// Returns a hash of each environment variable, and its process.
    Variables,
}

/// Performs the deed; returns only from the harmless ones.
pub fn perform(how: How, file: Option<&Path>) -> Result<(), Error> {
    match how {
        // Returning while the others wait for a message is harmful enough.
        How::Succeed | How::Hold | How::Count | How::Variables => Ok(()),
        How::Error => Err(Error::new("the input says that I must fail")),
        How::Panic => panic_now(),
        How::Abort => std::process::abort(),
        How::Exit => std::process::exit(7),
        How::Segfault => segfault(),
        How::Loop => spin(),
        How::Stall => stall(),
        How::EatMemory => eat_memory(),
        How::Snoop => snoop(),
        How::FailOnce => fail_once(file.ok_or_else(|| Error::new("which file?"))?),
    }
}

#[allow(clippy::panic)]
fn panic_now() -> ! {
    panic!("the input says that I must panic")
}

fn segfault() -> ! {
    // SAFETY: none. The invalid read is intended: the process must die of it.
    unsafe {
        black_box(std::ptr::without_provenance::<u8>(8)).read_volatile();
    }
    spin()
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn stall() -> ! {
    loop {
        std::thread::park();
    }
}

fn snoop() -> Result<(), Error> {
    let above = std::os::unix::process::parent_id();
    for secret in ["environ", "maps", "mem"] {
        if std::fs::File::open(format!("/proc/{above}/{secret}")).is_ok() {
            return Err(Error::new(format!("the runtime's {secret} is open to me")));
        }
    }
    match std::env::vars().find(|(name, _)| name.contains("TOKEN")) {
        Some((name, _)) => Err(Error::new(format!("I was given {name}"))),
        None => Ok(()),
    }
}

fn eat_memory() -> ! {
    const MEAL: usize = 16 << 20;
    let mut eaten = Vec::new();
    loop {
        // Pages count only once they are written.
        eaten.push(vec![1_u8; MEAL]);
        black_box(&eaten);
        println!("now: eaten {} MiB", (eaten.len() * MEAL) >> 20);
    }
}

fn fail_once(file: &Path) -> Result<(), Error> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => Err(Error::new("not yet")),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

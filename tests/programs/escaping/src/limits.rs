//! Takes more than its share, until it is refused.

use std::fs::{self, File};
use std::hint::spin_loop;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Far beyond what any pack can have.
const ENOUGH_THREADS: u32 = 4096;
const ENOUGH_BYTES: u64 = 1 << 30;

/// The amount that was taken, and the kind of error that ended it; none if nothing did.
#[derive(Serialize)]
pub struct Taken {
    threads: (u32, Option<String>),
    scratch: (u64, Option<String>),
    shared: (u64, Option<String>),
    /// Seconds of processor time per second, with more threads than the pack has processors.
    processors: f64,
}

pub fn exceed() -> io::Result<Taken> {
    Ok(Taken {
        threads: start_threads(),
        scratch: fill("/tmp/filled")?,
        shared: fill("/dev/shm/filled")?,
        processors: spin()?,
    })
}

fn kind(error: io::Error) -> String {
    format!("{:?}", error.kind())
}

/// Threads are counted like processes.
fn start_threads() -> (u32, Option<String>) {
    let released = Arc::new((Mutex::new(false), Condvar::new()));
    let mut threads = Vec::new();
    let mut refused = None;
    while refused.is_none() && threads.len() < ENOUGH_THREADS as usize {
        let waiting = Arc::clone(&released);
        let thread = Builder::new().stack_size(16 << 10).spawn(move || {
            let (released, changed) = &*waiting;
            let guard = released.lock();
            drop(guard.map(|guard| changed.wait_while(guard, |released| !*released)));
        });
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => refused = Some(kind(error)),
        }
    }
    let (flag, changed) = &*released;
    if let Ok(mut released) = flag.lock() {
        *released = true;
    }
    changed.notify_all();
    let started = threads.len() as u32;
    threads.into_iter().for_each(|thread| drop(thread.join()));
    (started, refused)
}

fn fill(path: &str) -> io::Result<(u64, Option<String>)> {
    let block = vec![1; 1 << 20];
    let mut file = File::create(path)?;
    let (mut written, mut refused) = (0, None);
    while refused.is_none() && written < ENOUGH_BYTES {
        match file.write_all(&block) {
            Ok(()) => written += block.len() as u64,
            Err(error) => refused = Some(kind(error)),
        }
    }
    // The file is in memory, which the next attempt needs.
    fs::remove_file(path)?;
    Ok((written, refused))
}

/// Lasts for twenty periods of the kernel's accounting.
fn spin() -> io::Result<f64> {
    let threads = thread::available_parallelism()?.get() * 2;
    let over = AtomicBool::new(false);
    let together = Barrier::new(threads + 1);
    Ok(thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                together.wait();
                while !over.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        together.wait();
        let (began, used) = (Instant::now(), processor_time());
        thread::sleep(Duration::from_secs(2));
        let share = (processor_time() - used).as_secs_f64() / began.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        share
    }))
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

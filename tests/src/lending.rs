//! Running platforms that are lent to one test after another: starting, warming up and stopping one takes longer than
//! most of what tests do with it.
//!
//! A borrower has a platform exclusively, in a new namespace. When the borrower returns it, all its flares are ended
//! and all warm packs stopped; if anything is then left that did not exist before the first loan ([`Platform`]'s
//! footprint), the test fails. After a failure the platform is not lent again. At the end, or if too many are idle, it
//! is stopped like any other, with the check that nothing is left, which fails the run if it does not hold.
//!
//! A platform's own state stays: ended flares and activations of other namespaces, its logs and metrics, and unpacked
//! packages. Tests that look at those, that change the platform itself, or that need an unused one start one of their
//! own ([`Platform::start`]).

use std::any::Any;
use std::io::Write;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use crate::leftovers::Footprint;
use crate::node::Node;
use crate::{Platform, Settings};

/// How many idle platforms are kept: one for each of the settings that most tests use. Each takes some 300 MiB.
const MOST_IDLE: usize = 4;

/// The idle platforms, the longest idle first.
static IDLE: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// A platform, and its footprint before the first loan.
#[derive(Debug)]
struct Shared {
    platform: Platform,
    before: Footprint,
}

/// A platform that a test has exclusively until this is dropped.
#[derive(Debug)]
pub struct Loan(Option<Shared>);

impl Platform {
    /// Borrows an idle platform or starts one. See [`lending`](self).
    #[track_caller]
    pub fn lent(settings: Settings) -> Loan {
        assert!(
            !settings.prewarms(),
            "what is pre-warmed is another one after a flare"
        );
        stop_all_at_exit();
        let found = {
            let mut idle = idle();
            let at = idle.iter().rposition(|it| it.platform.is_of(&settings));
            at.map(|at| idle.remove(at))
        };
        let mut shared = found.unwrap_or_else(|| Shared::start(&settings));
        shared.platform.lend(&settings);
        Loan(Some(shared))
    }
}

impl Shared {
    #[track_caller]
    fn start(settings: &Settings) -> Self {
        let platform = Platform::start(settings.clone());
        Self {
            before: platform.footprint(),
            platform,
        }
    }

    /// Stops it, and prints what was wrong if it did not stop cleanly.
    fn stops_cleanly(mut self) -> bool {
        let platform = &mut self.platform;
        let Err(cause) = catch_unwind(AssertUnwindSafe(|| platform.stop())) else {
            return true;
        };
        let (reason, lines) = (reason(&*cause), Node::last_lines(&platform.log_file()));
        // Not with a macro: the output of those is captured for tests, which are over.
        let _ = writeln!(
            std::io::stderr(),
            "a platform that tests have borrowed did not end well: {reason}\n{lines}"
        );
        platform.sweep();
        false
    }
}

impl Deref for Loan {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        let shared = self.0.as_ref();
        &shared.expect("it is there until this is dropped").platform
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let Some(mut shared) = self.0.take() else {
            return;
        };
        // The platform is removed after a failed test, as it may be the cause; also if it is not as it was before.
        if thread::panicking() {
            return;
        }
        shared.platform.take_back(&shared.before);
        let oldest = {
            let mut idle = idle();
            idle.push(shared);
            (idle.len() > MOST_IDLE).then(|| idle.remove(0))
        };
        drop(oldest);
    }
}

fn idle() -> MutexGuard<'static, Vec<Shared>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops all idle platforms, and returns whether all of them stopped cleanly.
fn stop_all() -> bool {
    let idle = std::mem::take(&mut *idle());
    thread::scope(|scope| {
        let stopping: Vec<_> = (idle.into_iter())
            .map(|shared| scope.spawn(|| shared.stops_cleanly()))
            .collect();
        let mut stopped = stopping.into_iter().map(|it| it.join().unwrap_or(false));
        stopped.all(|well| well)
    })
}

/// Returns the message of a panic.
fn reason(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}

/// The exit code of a test program whose tests have failed.
const FAILED: i32 = 101;

/// Stops all platforms when this process ends.
static CLOSER: OnceLock<Mutex<Option<JoinHandle<bool>>>> = OnceLock::new();
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// An exit handler is the only place where a test program can do something after its last test.
fn stop_all_at_exit() {
    CLOSER.get_or_init(|| {
        // SAFETY: the exit handler takes no arguments and does not unwind.
        let registered = unsafe { libc::atexit(close) };
        assert_eq!(registered, 0, "there is no room for a function at the exit");
        let closer = thread::spawn(|| {
            while !IS_OVER.load(Ordering::Acquire) {
                thread::park();
            }
            stop_all()
        });
        Mutex::new(Some(closer))
    });
}

/// Leaves the work to a separate thread: this one is ending the process, and its thread-local variables are already
/// destroyed.
extern "C" fn close() {
    let closer = CLOSER.get().map(Mutex::lock);
    let Some(closer) = closer.and_then(|it| it.unwrap_or_else(PoisonError::into_inner).take())
    else {
        return;
    };
    IS_OVER.store(true, Ordering::Release);
    closer.thread().unpark();
    if !matches!(closer.join(), Ok(true)) {
        // SAFETY: it ends this process immediately. All output has already been printed.
        unsafe { libc::_exit(FAILED) }
    }
}

//! Platforms that run already, lent to one test after the other: to start one, to warm it up and to end it takes longer
//! than most of what tests have it do.
//!
//! Who borrows one has it alone, in a new namespace. When he gives it back all that he had under way is ended, and warm
//! packs are; then nothing may be left but what was there before anybody had it ([`Platform`]'s footprint), or the test
//! fails. After a failure nobody has it again. In the end, or when there are too many that nobody has, it is stopped as any
//! other, with the proof that nothing is left, which fails the run if it does not hold.
//!
//! What stays is what a platform knows: ended flares and activations of other namespaces, what it has logged and
//! counted, packages that are unpacked. Tests that look at that, that change what a platform is, or that need it to have
//! done nothing before start one of their own ([`Platform::start`]).

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

/// How many are kept that nobody has: one of each of the settings that most tests have. Each takes some 300 MiB.
const MOST_IDLE: usize = 4;

/// Those that nobody has, the longest idle first.
static IDLE: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// A platform, and what it had on this machine when nobody had had it yet.
#[derive(Debug)]
struct Shared {
    platform: Platform,
    before: Footprint,
}

/// A platform that a test has for itself until this is dropped.
#[derive(Debug)]
pub struct Loan(Option<Shared>);

impl Platform {
    /// Borrows one that nobody has, or starts one. See [`lending`](self).
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

    /// Stops it and tells whoever runs the tests what was wrong with its end.
    fn ends_well(mut self) -> bool {
        let platform = &mut self.platform;
        let Err(cause) = catch_unwind(AssertUnwindSafe(|| platform.stop())) else {
            return true;
        };
        let (reason, words) = (reason(&*cause), Node::last_words(&platform.log_file()));
        // Not by a macro: what those print is kept for tests, which are over.
        let _ = writeln!(
            std::io::stderr(),
            "a platform that tests have borrowed did not end well: {reason}\n{words}"
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
        // It is swept away, as whatever its test has failed of may be its fault; also if it is not as it was.
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

/// Stops all that nobody has; whether all ended well.
fn stop_all() -> bool {
    let idle = std::mem::take(&mut *idle());
    thread::scope(|scope| {
        let stopping: Vec<_> = (idle.into_iter())
            .map(|shared| scope.spawn(|| shared.ends_well()))
            .collect();
        let mut stopped = stopping.into_iter().map(|it| it.join().unwrap_or(false));
        stopped.all(|well| well)
    })
}

/// What a panic said.
fn reason(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}

/// How a test program ends whose tests have failed.
const FAILED: i32 = 101;

/// Stops all when this process ends.
static CLOSER: OnceLock<Mutex<Option<JoinHandle<bool>>>> = OnceLock::new();
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// There is no other place where a program of tests may do something after the last of them.
fn stop_all_at_exit() {
    CLOSER.get_or_init(|| {
        // SAFETY: what is called at the exit takes nothing and does not unwind.
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

/// Has it done by a thread that is whole: of this one, which ends the process, its local variables are gone.
extern "C" fn close() {
    let closer = CLOSER.get().map(Mutex::lock);
    let Some(closer) = closer.and_then(|it| it.unwrap_or_else(PoisonError::into_inner).take())
    else {
        return;
    };
    IS_OVER.store(true, Ordering::Release);
    closer.thread().unpark();
    if !matches!(closer.join(), Ok(true)) {
        // SAFETY: it ends this process at once. All that was to be printed has been.
        unsafe { libc::_exit(FAILED) }
    }
}

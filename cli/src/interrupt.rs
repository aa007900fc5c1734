//! Ctrl-C (or SIGTERM) as an event that ends a wait.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::error::{Error, FlareEnd, StartError};

/// How often a wait for something else checks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The user's requests to stop. The second one ends the program immediately.
pub struct Interrupts(Receiver<()>);

impl Interrupts {
    /// Starts to listen for SIGINT and SIGTERM.
    pub fn listen() -> Result<Self, Error> {
        Ok(Self::register().map_err(StartError::Interrupts)?)
    }

    fn register() -> std::io::Result<Self> {
        let seen = Arc::new(AtomicBool::new(false));
        let code = Error::Flare {
            end: FlareEnd::Cancelled,
            sentence: String::new(),
        }
        .exit_code();
        for signal in [SIGINT, SIGTERM] {
            // In this order the first signal finds the flag still unset.
            flag::register_conditional_shutdown(signal, code.into(), Arc::clone(&seen))?;
            flag::register(signal, Arc::clone(&seen))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for _ in signals.forever() {
                if sender.send(()).is_err() {
                    return;
                }
            }
        });
        Ok(Self(receiver))
    }

    /// Waits for this time, or until the user wants to stop; returns whether the user does.
    pub fn wait(&self, time: Duration) -> bool {
        match self.0.recv_timeout(time) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(time);
                false
            }
        }
    }

    /// Does some work on another thread and returns its result. If the user wants to stop before it is done, returns
    /// the channel that will receive the result, so that a platform that does not answer does not delay the stop.
    pub fn during<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Receiver<T>> {
        let (sender, done) = mpsc::channel();
        thread::spawn(move || sender.send(work()));
        loop {
            match done.recv_timeout(LOOK) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) if !self.wait(Duration::ZERO) => {}
                Err(_) => return Err(done),
            }
        }
    }
}

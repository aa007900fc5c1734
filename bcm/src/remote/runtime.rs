//! A thread with an asynchronous runtime, for backends whose client library needs one.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::patience::Patience;
use crate::error::Error;

/// How often a caller that waits for a task checks whether to continue.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How long tasks have to end when the runtime stops.
const ENDING: Duration = Duration::from_millis(500);

/// The result of a task, unless it takes longer than `limit`. Only time in which this process runs
/// counts, so that an answer that arrived while the process stood still is not given up unread.
pub(super) async fn within<T>(limit: Duration, task: impl Future<Output = T>) -> Option<T> {
    let mut patience = Patience::of(limit);
    wait_while(|| !patience.is_over(), task).await
}

/// The result of a task, as long as `condition` holds.
pub(super) async fn wait_while<T>(
    mut condition: impl FnMut() -> bool,
    task: impl Future<Output = T>,
) -> Option<T> {
    let mut task = pin!(task);
    loop {
        match tokio::time::timeout(LOOK, &mut task).await {
            Ok(result) => return Some(result),
            Err(_) if condition() => {}
            Err(_) => return None,
        }
    }
}

/// See the module's documentation. Its tasks end with it.
#[derive(Debug)]
pub(super) struct Runtime {
    name: &'static str,
    handle: Handle,
    thread: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Runtime {
    /// Starts the thread, named after the backend.
    pub(super) fn start(name: &'static str) -> Result<Self, Error> {
        let failed = |reason: std::io::Error| {
            Error::of_backend(name, None, format!("cannot start a thread: {reason}"))
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name(format!("bcm-{name}"))
            .spawn(move || {
                // Runs until `stop` is sent or dropped.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_timeout(ENDING);
            })
            .map_err(failed)?;
        Ok(Self {
            name,
            handle,
            thread: Mutex::new(Some((stop, thread))),
        })
    }

    /// Starts a task that nobody waits for.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    /// The handle, for starting tasks that are awaited later.
    #[cfg(feature = "s3")]
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs a task and waits for it. Calls `interrupt` from time to time; if that fails, the task
    /// ends with its error.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
        mut interrupt: impl FnMut() -> Result<(), Error>,
    ) -> Result<T, Error> {
        let (done, result) = mpsc::sync_channel(1);
        let task = self.handle.spawn(async move {
            let _ = done.send(task.await);
        });
        loop {
            match result.recv_timeout(LOOK) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => interrupt().inspect_err(|_| task.abort())?,
                // The runtime has ended, or is broken without having been stopped.
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Closed),
            }
        }
    }

    /// Like `run`, for a limited time.
    pub(super) fn run_for<T: Send + 'static>(
        &self,
        limit: Duration,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let mut patience = Patience::of(limit);
        self.run(task, || match patience.is_over() {
            false => Ok(()),
            true => {
                let reason = format!("the server does not answer within {limit:?}");
                Err(Error::of_backend(self.name, None, reason))
            }
        })
    }

    /// Ends all tasks and the thread. Does nothing when called again.
    pub(super) fn stop(&self) {
        if let Some((stop, thread)) = self.thread.lock().take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::future;

    use super::*;

    fn run<T>(task: impl Future<Output = T>) -> T {
        let mut runtime = Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(task)
    }

    #[test]
    fn a_task_is_waited_for_while_the_condition_holds() {
        let late = async {
            tokio::time::sleep(LOOK * 3).await;
            7
        };
        assert_eq!(run(wait_while(|| true, late)), Some(7));
        assert_eq!(run(wait_while(|| false, future::pending::<()>())), None);
    }

    #[test]
    fn a_pause_of_this_process_does_not_count_as_silence() {
        const LIMIT: Duration = Duration::from_millis(500);
        let heard = run(async {
            let answer = tokio::spawn(async {
                thread::sleep(2 * LIMIT);
                // The waiting side is polled first; the answer comes after it.
                tokio::time::sleep(LOOK / 10).await;
            });
            within(LIMIT, answer).await
        });
        assert!(heard.is_some());
        assert_eq!(run(within(LIMIT, future::pending::<()>())), None);
    }
}

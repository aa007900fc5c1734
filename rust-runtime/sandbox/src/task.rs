//! Something that is done until whoever has begun it closes it.

use std::convert::Infallible;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Nobody says this: it is time to end when its sender is gone.
pub(crate) type Ended = Infallible;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Task {
    end: oneshot::Sender<Ended>,
    ended: JoinHandle<()>,
}

impl Task {
    pub(crate) fn spawn<F>(task: impl FnOnce(oneshot::Receiver<Ended>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (end, told) = oneshot::channel();
        Self {
            end,
            ended: tokio::spawn(task(told)),
        }
    }
}

/// Returns when it has ended.
pub(crate) async fn close(task: &mut Option<Task>) {
    if let Some(Task { end, ended }) = task.take() {
        drop(end);
        let _ = ended.await;
    }
}

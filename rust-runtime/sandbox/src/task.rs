//! A background task that runs until its owner closes it.

use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

use crate::end::End;

/// See the module's documentation. The task is also asked to end when this is dropped.
#[derive(Debug)]
pub(crate) struct Task {
    end: DropGuard,
    ended: JoinHandle<()>,
}

impl Task {
    pub(crate) fn spawn<F>(end: End, task: impl FnOnce(End) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            end: end.guard(),
            ended: tokio::spawn(task(end)),
        }
    }
}

/// Asks the task to end, and returns when it has.
pub(crate) async fn close(task: &mut Option<Task>) {
    if let Some(Task { end, ended }) = task.take() {
        drop(end);
        let _ = ended.await;
    }
}

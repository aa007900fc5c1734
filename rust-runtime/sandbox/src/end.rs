//! When a pack's connections end: on an order, or because the pack has ended.

use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFuture};

/// See the module's documentation.
#[derive(Debug, Clone)]
pub(crate) struct End {
    told: CancellationToken,
    pack: CancellationToken,
}

impl End {
    /// An end that comes with the pack's at the latest.
    pub(crate) fn with(pack: &CancellationToken) -> Self {
        Self {
            told: pack.child_token(),
            pack: pack.clone(),
        }
    }

    pub(crate) fn tell(&self) {
        self.told.cancel();
    }

    /// Returns a guard that announces the end when it is dropped.
    pub(crate) fn guard(&self) -> DropGuard {
        self.told.clone().drop_guard()
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.is_cancelled()
    }

    pub(crate) fn told(&self) -> WaitForCancellationFuture<'_> {
        self.told.cancelled()
    }

    /// Returns the future's output, or `None` if the end comes first.
    pub(crate) async fn or<F: Future>(&self, future: F) -> Option<F::Output> {
        self.told.run_until_cancelled(future).await
    }

    /// Whether the pack itself has ended, and with it its side of all connections.
    pub(crate) fn is_of_pack(&self) -> bool {
        self.pack.is_cancelled()
    }
}

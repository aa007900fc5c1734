//! When what a pack has open ends: it is told to, or its pack has ended.

use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFuture};

/// See the module's documentation.
#[derive(Debug, Clone)]
pub(crate) struct End {
    told: CancellationToken,
    pack: CancellationToken,
}

impl End {
    /// Of what ends with this pack at the latest.
    pub(crate) fn with(pack: &CancellationToken) -> Self {
        Self {
            told: pack.child_token(),
            pack: pack.clone(),
        }
    }

    pub(crate) fn tell(&self) {
        self.told.cancel();
    }

    /// Tells it when that is dropped.
    pub(crate) fn guard(&self) -> DropGuard {
        self.told.clone().drop_guard()
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.is_cancelled()
    }

    pub(crate) fn told(&self) -> WaitForCancellationFuture<'_> {
        self.told.cancelled()
    }

    /// What comes of this, unless the end comes before.
    pub(crate) async fn or<F: Future>(&self, future: F) -> Option<F::Output> {
        self.told.run_until_cancelled(future).await
    }

    /// Nothing of it is left, so that all of its connections have ended.
    pub(crate) fn is_of_pack(&self) -> bool {
        self.pack.is_cancelled()
    }
}

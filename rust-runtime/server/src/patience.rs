//! Timeouts that do not count time in which this process stood still.

use std::time::Duration;

use tokio::time::sleep;

/// How much of a time in which this process stood still counts at most.
const STEP: Duration = Duration::from_millis(250);

/// Completes after this process has been running for so long. While it stood still, because it was suspended or the
/// machine had no time for it, it has not waited: what arrived in the meantime has not been read yet.
pub(crate) async fn elapsed(limit: Duration) {
    let mut left = limit;
    while !left.is_zero() {
        let step = left.min(STEP);
        sleep(step).await;
        left -= step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_pause_of_this_process_counts_as_one_step() {
        let mut waited = pin!(elapsed(STEP * 3));
        assert!(timeout(Duration::ZERO, &mut waited).await.is_err());
        std::thread::sleep(STEP * 5);
        assert!(timeout(Duration::ZERO, &mut waited).await.is_err());
        waited.await;
    }
}

//! The cause of the end of a program on which several flares ran, so that the other flares are not blamed for it.
//!
//! A flare that kills the program records that here first. A flare whose call announces that it is ending the process
//! records that as well; the others may learn of the end before that message has been read, so each of them waits
//! briefly until all messages have been read.

use tokio::sync::watch;

/// What is known about the end of a program.
pub(crate) struct ExitAttribution(watch::Sender<Findings>);

#[derive(Default)]
struct Findings {
    /// Flares that run on the program.
    present: usize,
    /// How many of them have read all messages that the program sent before its end.
    drained: usize,
    attributed: Option<(u64, ExitCause)>,
}

/// How a flare ended the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCause {
    /// The program had to be killed, because a call of the flare did this.
    Killed(&'static str),
    /// A call of the flare announced that it was ending the process, by this signal if any.
    Announced { signal: Option<i32> },
}

impl ExitAttribution {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::default())
    }

    /// Records that another flare runs.
    pub(crate) fn join(&self) {
        self.0.send_modify(|findings| findings.present += 1);
    }

    /// Records that a flare no longer runs. `drained` is whether it was counted by `note_drained`.
    pub(crate) fn leave(&self, drained: bool) {
        self.0.send_modify(|findings| {
            findings.present -= 1;
            findings.drained -= usize::from(drained);
        });
    }

    /// Records that one more flare has read all messages for it.
    pub(crate) fn note_drained(&self) {
        self.0.send_modify(|findings| findings.drained += 1);
    }

    /// Waits until all flares have read all messages for them.
    pub(crate) async fn all_drained(&self) {
        let all = |findings: &Findings| findings.drained >= findings.present;
        // The sender is in `self`, so it is not dropped while this waits.
        let _ = self.0.subscribe().wait_for(all).await;
    }

    /// Attributes the end to the flare of this run, unless another one was first.
    pub(crate) fn attribute(&self, run: u64, cause: ExitCause) {
        self.0.send_modify(|findings| {
            findings.attributed.get_or_insert((run, cause));
        });
    }

    /// Returns how a flare other than that of this run ended the program, if one did.
    pub(crate) fn other_than(&self, run: u64) -> Option<ExitCause> {
        let attributed = self.0.borrow().attributed;
        attributed
            .filter(|(other, _)| *other != run)
            .map(|(_, cause)| cause)
    }

    /// Returns how many flares run on the program.
    pub(crate) fn present(&self) -> usize {
        self.0.borrow().present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_counts_and_is_not_blamed_on_itself() {
        let attribution = ExitAttribution::new();
        assert_eq!(attribution.other_than(1), None);
        let cause = ExitCause::Announced { signal: None };
        attribution.attribute(1, cause);
        attribution.attribute(2, ExitCause::Killed("was late"));
        assert_eq!(attribution.other_than(1), None);
        assert_eq!(attribution.other_than(2), Some(cause));
    }

    #[tokio::test]
    async fn only_running_flares_are_waited_for() {
        let attribution = ExitAttribution::new();
        attribution.all_drained().await;
        for _ in 0..3 {
            attribution.join();
        }
        attribution.note_drained();
        attribution.leave(true);
        attribution.leave(false);
        assert_eq!(attribution.present(), 1);
        let last = async {
            tokio::task::yield_now().await;
            attribution.note_drained();
        };
        tokio::join!(attribution.all_drained(), last);
    }
}

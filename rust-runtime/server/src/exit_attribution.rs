//! The cause of the end of a program on which several flares ran: the other flares are not to be blamed for it.
//!
//! A flare that has the program killed notes that here first. A flare whose call says that it is ending the process
//! notes that as well; the others may learn of the end before that message was read, so each of them waits, for a
//! moment, until all messages have been read.

use tokio::sync::watch;

/// What is known of it.
pub(crate) struct ExitAttribution(watch::Sender<Findings>);

#[derive(Default)]
struct Findings {
    /// Flares that run on the program.
    present: usize,
    /// Those of them of which everything has been heard that the program said before its end.
    drained: usize,
    attributed: Option<(u64, ExitCause)>,
}

/// How a flare ended the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCause {
    /// It had to be killed, since a call of it did this.
    Killed(&'static str),
    /// A call of it said that it ends the process, by this signal if by any.
    Announced { signal: Option<i32> },
}

impl ExitAttribution {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::default())
    }

    /// Another flare runs.
    pub(crate) fn join(&self) {
        self.0.send_modify(|findings| findings.present += 1);
    }

    /// A flare, of which all may have been heard, runs no longer.
    pub(crate) fn leave(&self, drained: bool) {
        self.0.send_modify(|findings| {
            findings.present -= 1;
            findings.drained -= usize::from(drained);
        });
    }

    /// Everything was heard that the program had to say of one more flare.
    pub(crate) fn note_drained(&self) {
        self.0.send_modify(|findings| findings.drained += 1);
    }

    /// Waits until there is none of which something may still be heard.
    pub(crate) async fn all_drained(&self) {
        let all = |findings: &Findings| findings.drained >= findings.present;
        // The sender is `self`, so it is not dropped meanwhile.
        let _ = self.0.subscribe().wait_for(all).await;
    }

    /// It was the flare of this run, unless it was another one before.
    pub(crate) fn attribute(&self, run: u64, cause: ExitCause) {
        self.0.send_modify(|findings| {
            findings.attributed.get_or_insert((run, cause));
        });
    }

    /// How another flare than that of this run ended the program, if one did.
    pub(crate) fn other_than(&self, run: u64) -> Option<ExitCause> {
        let attributed = self.0.borrow().attributed;
        attributed
            .filter(|(other, _)| *other != run)
            .map(|(_, cause)| cause)
    }

    /// How many flares run.
    pub(crate) fn present(&self) -> usize {
        self.0.borrow().present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_counts_and_is_not_told_of_itself() {
        let attribution = ExitAttribution::new();
        assert_eq!(attribution.other_than(1), None);
        let cause = ExitCause::Announced { signal: None };
        attribution.attribute(1, cause);
        attribution.attribute(2, ExitCause::Killed("was late"));
        assert_eq!(attribution.other_than(1), None);
        assert_eq!(attribution.other_than(2), Some(cause));
    }

    #[tokio::test]
    async fn nobody_is_waited_for_but_those_that_run() {
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

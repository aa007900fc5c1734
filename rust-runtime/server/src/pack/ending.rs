//! The end of a flare on this pack: what is still to be reported, and what happens to the program.

use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;

use burst_protocol::{Failure, FailureKind, PackEvent, Timestamp};
use bytes::BytesMut;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::{Order, Outcome, RunningFlare};
use crate::cleanup;
use crate::exit_attribution::ExitCause;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::process_end::ProcessEnd;
use crate::tracker::End;

impl RunningFlare {
    /// Removes what the flare has left, unless an order ends it immediately or nobody waits for it any longer. Returns
    /// whether the pack can be used again.
    pub(super) async fn clean_up(
        &mut self,
        grouped: bool,
        orders: &mut mpsc::Receiver<Order>,
    ) -> bool {
        self.program().keep_images_processes();
        let mut cleaned = pin!(cleanup::clean_up(&self.lane.program, grouped));
        let ended = Instant::now();
        loop {
            tokio::select! {
                // A clean-up that is done is not late, even if this process stood still.
                biased;
                cleaned = &mut cleaned => return cleaned,
                Some(order) = orders.recv() => match order {
                    Order::Start(_) => {}
                    Order::Renew(time) => self.timers.renew(time),
                    Order::Abort(_) | Order::Leave => return false,
                },
                () = sleep_until(self.timers.last_word(ended)) => return false,
            }
        }
    }

    /// Reports everything that is still to be reported. Returns the program's state, and the last lines.
    pub(super) fn end(mut self) -> (Outcome, BytesMut) {
        self.hear_rest();
        self.outbox.close_logs();
        let said = self.said.take();
        let traffic = said.as_ref().and_then(|end| end.traffic);
        let (failures, error, reusable) = match said {
            Some(End {
                reusable, error, ..
            }) => {
                let failures = self.tracker.forgotten();
                let forgotten = failures.first().map(|(_, failure)| failure.clone());
                let first = self.tracker.first_failure().cloned();
                let error = self.reason.take().or(first).or(error).or(forgotten);
                (failures, error, reusable)
            }
            None => {
                let (failures, error) = self.post_mortem();
                (failures, Some(error), false)
            }
        };
        for (worker, error) in failures {
            self.outbox.put(&PackEvent::WorkerFailed {
                worker,
                error,
                at: Timestamp::now(),
            });
        }
        let ended_well = error.is_none() && self.kept_to_this_run();
        let lives = self.exited.is_none() && !self.program().is_doomed();
        let reusable = reusable && ended_well && lives;
        if !reusable {
            // The other flares that still run on it must not report that it can be used again.
            self.program().doom();
        }
        self.program().attribution.leave(self.drained);
        self.outbox.put(&PackEvent::PackEnded {
            reusable,
            error: error.clone(),
            at: Timestamp::now(),
            traffic,
        });
        let last = self.outbox.take();
        let spent = || error.map_or(NotReusable::Declined, NotReusable::Failed);
        let spent = (!reusable).then(spent);
        self.lane.rest();
        let lane = self.lane;
        (Outcome { lane, spent }, last)
    }

    /// Returns whether all events were about this run, and none came after its end: a program that breaks this may do
    /// so again.
    fn kept_to_this_run(&mut self) -> bool {
        self.lane.incoming.drain();
        !self.checks.saw_other_run() && self.lane.incoming.is_empty()
    }

    /// Reads what an ended process has still sent about this flare, and waits until the other flares have done the
    /// same.
    pub(super) async fn drain(&mut self) {
        self.hear_rest();
        self.drained = true;
        let attribution = &self.program().attribution;
        attribution.note_drained();
        // If another flare does not read in time, its client is to blame.
        let _ = tokio::time::timeout(limits::SETTLE, attribution.all_drained()).await;
    }

    /// Reads what was sent and has not been read since.
    fn hear_rest(&mut self) {
        if let Some(pipes) = self.lane.pipes() {
            pipes.finish();
        }
        self.log_output();
        if self.exited.is_some() && self.control_open {
            self.lane.incoming.drain();
            self.read_frames();
        }
    }

    /// Returns why the process ended, for each worker that had not ended, and for the pack.
    fn post_mortem(&mut self) -> (Vec<(u32, Failure)>, Failure) {
        let other = self.program().attribution.other_than(self.run);
        if let Some(reason) = &self.reason
            && (self.killed || other.is_some())
        {
            return (self.tracker.killed(reason), reason.clone());
        }
        if self.leaving {
            return self.tracker.lost(FailureKind::PackLost, STOPPED);
        }
        if let Some(cause) = other {
            let how = match cause {
                ExitCause::Killed(deed) => deed.to_owned(),
                ExitCause::Announced { signal } => self.how_it_died(Some(signal)).to_string(),
            };
            return self.tracker.ended_by_another_flare(&how);
        }
        let announced = self.tracker.announced().map(|exit| exit.signal);
        let end = self.how_it_died(announced);
        let mut how = end.to_string();
        let present = self.program().attribution.present();
        if announced.is_none() && present > 1 {
            how = format!(
                "{how}; which of the {present} calls in its container it was cannot be known"
            );
        }
        let (failures, cause) = self.tracker.lost(end.kind(), &how);
        (failures, self.reason.clone().unwrap_or(cause))
    }

    /// Returns what ended the process. One that had announced its end and had to be killed ended as announced, as the
    /// kill was the runtime's own doing.
    fn how_it_died(&self, announced: Option<Option<i32>>) -> ProcessEnd {
        let status = self.exited.as_ref().and_then(|exited| exited.status);
        let killed = status.and_then(|status| status.signal()) == Some(libc::SIGKILL);
        // If a call of another flare announced it, that flare did the killing.
        let helped = self.killed || self.tracker.announced().is_none();
        match announced {
            Some(Some(signal)) if helped && killed => {
                let said = ExitStatus::from_raw(signal);
                self.program().explain(Some(said), Some(signal))
            }
            Some(None) if helped && killed => ProcessEnd::Lingered,
            _ => self.program().explain(status, announced.flatten()),
        }
    }
}

const STOPPED: &str = "was told from outside to end";

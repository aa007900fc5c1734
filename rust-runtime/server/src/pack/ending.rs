//! How a flare on this pack ends: what is still to be reported, and what becomes of the program.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use burst_protocol::{Failure, FailureKind, PackEvent, Timestamp};
use bytes::BytesMut;

use super::{Outcome, RunningFlare};
use crate::not_reusable::NotReusable;
use crate::tracker::End;

impl RunningFlare {
    /// Reports what is still to be reported. What becomes of the program, and the last lines.
    pub(super) fn end(mut self) -> (Outcome, BytesMut) {
        for pipe in [&mut self.program.stdout, &mut self.program.stderr] {
            pipe.drain();
            pipe.finish();
        }
        self.log_output();
        if self.exited.is_some() && self.control_open {
            // It is not too late for what was said before the end and not looked at since.
            self.program.incoming.drain();
            self.read_frames();
        }
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
        let reusable =
            reusable && error.is_none() && self.exited.is_none() && self.kept_to_this_run();
        self.outbox.put(&PackEvent::PackEnded {
            reusable,
            error: error.clone(),
            at: Timestamp::now(),
            traffic,
        });
        let last = self.outbox.take();
        if reusable {
            return (Outcome::Reusable(self.program), last);
        }
        self.program.group.kill();
        let spent = error.map_or(NotReusable::Declined, NotReusable::Failed);
        (Outcome::NotReusable(spent), last)
    }

    /// Whether nothing was said but about this run, and nothing after its end: who does that may do it again.
    fn kept_to_this_run(&mut self) -> bool {
        self.program.incoming.drain();
        !self.checks.strayed() && self.program.incoming.is_empty()
    }

    /// Why the process ended, for each worker that had not, and for the pack.
    fn post_mortem(&mut self) -> (Vec<(u32, Failure)>, Failure) {
        if self.killed
            && let Some(reason) = &self.reason
        {
            return (self.tracker.killed(reason), reason.clone());
        }
        let (kind, how) = match self.leaving {
            true => (FailureKind::PackLost, STOPPED.to_owned()),
            false => self.how_it_died(),
        };
        let (failures, cause) = self.tracker.lost(kind, &how);
        (failures, self.reason.clone().unwrap_or(cause))
    }

    /// What ended the process. One that had announced its end and had to be helped along ended as
    /// it said: that it was killed is the runtime's own doing.
    fn how_it_died(&self) -> (FailureKind, String) {
        let status = self.exited.as_ref().and_then(|exited| exited.status);
        let announced = self.tracker.dying().map(|dying| dying.signal);
        let killed = status.and_then(|status| status.signal()) == Some(libc::SIGKILL);
        match announced {
            Some(Some(signal)) if self.killed && killed => {
                let said = ExitStatus::from_raw(signal);
                self.program.explain(Some(said), Some(signal))
            }
            Some(None) if self.killed && killed => (FailureKind::Exit, LINGERED.to_owned()),
            _ => self.program.explain(status, announced.flatten()),
        }
    }
}

const STOPPED: &str = "was told from outside to end";
const LINGERED: &str = "was ending the process, which took too long and was killed";

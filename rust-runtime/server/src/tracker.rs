//! The state of the running pack's workers. Pure: events in, verdicts out.

use burst_protocol::{Failure, FailureKind, PHASES, PackEvent, PackId, RunPack, Traffic, WORK};

use crate::violation::ProtocolViolation;

/// Follows one flare's events and judges them: a program is not trusted, as it may report workers that it does not
/// have, or end one twice.
#[derive(Debug)]
pub(crate) struct Tracker {
    pack: PackId,
    first: u32,
    ready: bool,
    /// The flare was started: its workers may begin.
    begun: bool,
    started: Vec<bool>,
    ended: Vec<bool>,
    phases: Vec<u32>,
    left: u32,
    first_failure: Option<Failure>,
    announced: Option<AnnouncedExit>,
}

/// The end of the process as the program announced it: the worker that causes it, and the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnnouncedExit {
    pub(crate) worker: Option<u32>,
    pub(crate) signal: Option<i32>,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Pass it on.
    Forward,
    /// Ignore it: it makes no sense here.
    Drop,
    /// It cannot be true, for this reason, and the program is no longer trusted.
    Violation(ProtocolViolation),
    /// The program says that the pack has ended.
    Ended(End),
}

/// What a program reports at the end of its pack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Whether another flare may run on it.
    pub(crate) reusable: bool,
    pub(crate) error: Option<Failure>,
    pub(crate) traffic: Option<Traffic>,
}

impl Tracker {
    pub(crate) fn new(run: &RunPack) -> Self {
        let size = run.pack_size();
        Self {
            pack: run.pack,
            first: run.first_worker(),
            ready: false,
            begun: run.autostart,
            started: vec![false; size as usize],
            ended: vec![false; size as usize],
            phases: vec![0; size as usize],
            left: size,
            first_failure: None,
            announced: None,
        }
    }

    pub(crate) fn pack(&self) -> PackId {
        self.pack
    }

    /// Records that the flare was started.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// Judges an event.
    pub(crate) fn see(&mut self, event: &PackEvent) -> Verdict {
        let worker = match event {
            PackEvent::PackEnded {
                reusable,
                error,
                traffic,
                ..
            } => {
                return Verdict::Ended(End {
                    reusable: *reusable && self.left == 0 && self.first_failure.is_none(),
                    error: error.clone(),
                    traffic: *traffic,
                });
            }
            PackEvent::Ready { .. } => return once(&mut self.ready),
            PackEvent::Log { worker: None, .. } => return Verdict::Forward,
            PackEvent::WorkerStarted { worker, .. }
            | PackEvent::Phase { worker, .. }
            | PackEvent::Log {
                worker: Some(worker),
                ..
            }
            | PackEvent::WorkerSucceeded { worker, .. }
            | PackEvent::WorkerFailed { worker, .. } => *worker,
        };
        let Some(index) = self.index(worker) else {
            return Verdict::Drop;
        };
        let (started, ended) = (self.started[index], self.ended[index]);
        match event {
            // Threads that a worker started may well log after its end.
            PackEvent::Log { .. } => Verdict::Forward,
            _ if ended => Verdict::Drop,
            PackEvent::WorkerStarted { .. } if !(self.ready && self.begun) => {
                Verdict::Violation(ProtocolViolation::TooEarly { worker })
            }
            PackEvent::WorkerStarted { .. } => once(&mut self.started[index]),
            PackEvent::WorkerFailed { error, .. } => {
                self.first_failure.get_or_insert_with(|| error.clone());
                self.end(index)
            }
            _ if !started => Verdict::Violation(ProtocolViolation::NeverBegan { worker }),
            PackEvent::Phase { .. } if self.phases[index] == PHASES => Verdict::Drop,
            PackEvent::Phase { .. } => {
                self.phases[index] += 1;
                Verdict::Forward
            }
            _ => self.end(index),
        }
    }

    fn end(&mut self, index: usize) -> Verdict {
        self.ended[index] = true;
        self.left -= 1;
        Verdict::Forward
    }

    /// Returns the index of a worker in this pack, if it belongs to it.
    fn index(&self, worker: u32) -> Option<usize> {
        let index = worker.checked_sub(self.first)? as usize;
        (index < self.ended.len()).then_some(index)
    }

    pub(crate) fn announce_exit(&mut self, announced: AnnouncedExit) {
        let worker = announced
            .worker
            .filter(|&worker| self.index(worker).is_some());
        self.announced.get_or_insert(AnnouncedExit {
            worker,
            ..announced
        });
    }

    pub(crate) fn announced(&self) -> Option<AnnouncedExit> {
        self.announced
    }

    pub(crate) fn first_failure(&self) -> Option<&Failure> {
        self.first_failure.as_ref()
    }

    /// Returns the failures of all workers that had not ended when the process did, the cause first; and the one of the
    /// pack. `how` follows "it", for the worker that caused it, or "its process".
    pub(crate) fn lost(&self, kind: FailureKind, how: &str) -> (Vec<(u32, Failure)>, Failure) {
        let known = self.announced.and_then(|announced| announced.worker);
        let suspect = known.or((self.ended.len() == 1).then_some(self.first));
        let cause = match suspect {
            Some(worker) => Failure::new(kind, format!("it {how}"))
                .of_worker(worker, self.pack)
                .in_operation(WORK),
            None => {
                let workers = self.ended.len();
                let unknown = format!("which of its {workers} workers it was cannot be known");
                let mut failure = Failure::new(kind, format!("its process {how}; {unknown}"));
                failure.pack = Some(self.pack);
                failure
            }
        };
        let of = |worker: u32| match suspect {
            Some(suspect) if suspect != worker => {
                let message = format!("its process ended: {cause}");
                self.of_peer(worker, FailureKind::PeerFailed, message)
            }
            _ => cause.clone(),
        };
        let mut failures: Vec<_> = self
            .remaining()
            .map(|worker| (worker, of(worker)))
            .collect();
        failures.sort_by_key(|(worker, _)| Some(*worker) != suspect);
        (failures, cause)
    }

    /// Returns the failures of the workers and the pack if another flare's call ended the program in this way.
    pub(crate) fn ended_by_another_flare(&self, how: &str) -> (Vec<(u32, Failure)>, Failure) {
        let message = format!("its container was ended, as another call in it {how}");
        let of = |worker| self.of_peer(worker, FailureKind::PackLost, message.clone());
        let failures = self
            .remaining()
            .map(|worker| (worker, of(worker)))
            .collect();
        (failures, of(self.first))
    }

    /// Returns the failures of all workers that had to be killed after `reason`.
    pub(crate) fn killed(&self, reason: &Failure) -> Vec<(u32, Failure)> {
        if reason.kind == FailureKind::Internal && reason.worker.is_none() && reason.pack.is_none()
        {
            return self.broken(reason);
        }
        let (kind, what) = match reason.kind {
            FailureKind::Timeout if reason.is_overdue() => (
                reason.kind,
                "it was still computing when the flare's time was up, and was killed",
            ),
            FailureKind::Cancelled => (reason.kind, KILLED),
            _ => (FailureKind::PeerFailed, KILLED),
        };
        let message = format!("{what}: {reason}");
        self.remaining()
            .map(|worker| (worker, self.of_peer(worker, kind, message.clone())))
            .collect()
    }

    /// Returns the failures of all workers if the program broke the protocol or the platform failed: no peer did it.
    /// Which worker it was is known only if there is just one.
    fn broken(&self, reason: &Failure) -> Vec<(u32, Failure)> {
        let mut failure = reason.clone().in_operation(WORK);
        failure.pack = Some(self.pack);
        failure.worker = (self.ended.len() == 1).then_some(self.first);
        self.remaining()
            .map(|worker| (worker, failure.clone()))
            .collect()
    }

    /// Returns the failures of workers that a program forgot to report.
    pub(crate) fn forgotten(&self) -> Vec<(u32, Failure)> {
        let message = "the program ended the pack without saying what became of this worker";
        self.remaining()
            .map(|worker| {
                (
                    worker,
                    self.of_peer(worker, FailureKind::Internal, message.to_owned()),
                )
            })
            .collect()
    }

    fn of_peer(&self, worker: u32, kind: FailureKind, message: String) -> Failure {
        Failure::new(kind, message)
            .of_worker(worker, self.pack)
            .in_operation(WORK)
    }

    fn remaining(&self) -> impl Iterator<Item = u32> {
        (self.first..)
            .zip(&self.ended)
            .filter(|(_, ended)| !**ended)
            .map(|(worker, _)| worker)
    }
}

/// Forwards only the first event of its kind.
fn once(seen: &mut bool) -> Verdict {
    match std::mem::replace(seen, true) {
        true => Verdict::Drop,
        false => Verdict::Forward,
    }
}
const KILLED: &str = "it did not return when the flare ended and was killed";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tracker(sizes: &[u32]) -> Tracker {
        let run = serde_json::json!({
            "flareId": "f", "pack": 1, "packSizes": sizes, "inputs": {"shared": 1},
            "backend": {"kind": "direct"}, "secret": "", "advertise": "", "deadline": 1
        });
        Tracker::new(&serde_json::from_str(&run.to_string()).unwrap())
    }

    /// Like [`tracker`], with all workers at work.
    fn working(sizes: &[u32]) -> Tracker {
        let mut tracker = tracker(sizes);
        tracker.begin();
        assert_eq!(tracker.see(&event(READY)), Verdict::Forward);
        let first = sizes[0];
        for worker in first..first + sizes[1] {
            assert_eq!(tracker.see(&started(worker)), Verdict::Forward);
        }
        tracker
    }

    const READY: &str = r#"{"event":"ready","endpoint":null,"at":0}"#;

    fn started(worker: u32) -> PackEvent {
        event(&format!(
            r#"{{"event":"worker-started","worker":{worker},"at":0}}"#
        ))
    }

    fn phase(worker: u32) -> PackEvent {
        event(&format!(
            r#"{{"event":"phase","worker":{worker},"name":"x","at":0}}"#
        ))
    }

    fn event(text: &str) -> PackEvent {
        serde_json::from_str(text).unwrap()
    }

    fn succeeded(worker: u32) -> PackEvent {
        event(&format!(
            r#"{{"event":"worker-succeeded","worker":{worker},"output":1,"at":0}}"#
        ))
    }

    const ENDED: &str = r#"{"event":"pack-ended","reusable":true,"error":null,"at":0}"#;

    #[test]
    fn workers_of_other_packs_and_second_ends_are_dropped() {
        let mut tracker = working(&[2, 2]);
        assert_eq!(tracker.see(&succeeded(1)), Verdict::Drop);
        assert_eq!(tracker.see(&succeeded(4)), Verdict::Drop);
        assert_eq!(tracker.see(&succeeded(2)), Verdict::Forward);
        assert_eq!(tracker.see(&succeeded(2)), Verdict::Drop);
    }

    #[test]
    fn a_pack_is_reusable_when_all_its_workers_succeeded() {
        let mut all = working(&[1, 1]);
        all.see(&succeeded(1));
        assert_eq!(
            all.see(&event(ENDED)),
            Verdict::Ended(End {
                reusable: true,
                error: None,
                traffic: None
            })
        );
        let mut none = tracker(&[1, 1]);
        assert_eq!(
            none.see(&event(ENDED)),
            Verdict::Ended(End {
                reusable: false,
                error: None,
                traffic: None
            })
        );
        assert_eq!(none.forgotten().len(), 1);
    }

    #[test]
    fn the_worker_that_ended_the_process_is_named_to_the_others() {
        let mut tracker = working(&[2, 3]);
        tracker.see(&succeeded(2));
        tracker.announce_exit(AnnouncedExit {
            worker: Some(4),
            signal: Some(6),
        });
        let (failures, cause) = tracker.lost(FailureKind::Abort, "aborted");
        assert_eq!((cause.kind, cause.worker), (FailureKind::Abort, Some(4)));
        assert_eq!(failures[0].0, 4);
        assert_eq!(failures[1].1.kind, FailureKind::PeerFailed);
        assert!(
            failures[1].1.message.contains("worker 4"),
            "{}",
            failures[1].1
        );
        assert_eq!(failures.len(), 2);
    }

    #[test]
    fn an_unattributed_failure_is_shared_unless_there_is_only_one_worker() {
        let (failures, cause) = tracker(&[1, 2]).lost(FailureKind::OutOfMemory, "was killed");
        assert_eq!(cause.worker, None);
        assert!(cause.message.contains("which of its 2 workers"), "{cause}");
        assert!(failures.iter().all(|(_, failure)| *failure == cause));
        let (_, cause) = tracker(&[1, 1]).lost(FailureKind::OutOfMemory, "was killed");
        assert_eq!(cause.worker, Some(1));
    }

    #[test]
    fn workers_killed_after_a_timeout_timed_out() {
        let reason = Failure::new(FailureKind::Timeout, "too late");
        assert_eq!(
            tracker(&[1, 1]).killed(&reason)[0].1.kind,
            FailureKind::Timeout
        );
        let reason = Failure::new(FailureKind::Panic, "boom").of_worker(0, PackId(0));
        let (worker, failure) = &tracker(&[1, 1]).killed(&reason)[0];
        assert_eq!((*worker, failure.kind), (1, FailureKind::PeerFailed));
        assert!(failure.message.contains("boom"));
    }

    #[test]
    fn a_protocol_violation_is_not_a_peers_failure() {
        let reason = Failure::new(FailureKind::Internal, "the program broke the protocol");
        let (worker, failure) = &tracker(&[1, 1]).killed(&reason)[0];
        assert_eq!((*worker, failure.worker), (1, Some(1)));
        assert_eq!(
            (failure.kind, failure.pack),
            (FailureKind::Internal, Some(PackId(1)))
        );
        let shared = tracker(&[1, 2]).killed(&reason);
        assert_eq!(shared.len(), 2);
        for (_, failure) in shared {
            assert_eq!(
                (failure.kind, failure.worker),
                (FailureKind::Internal, None)
            );
        }
        let others = reason.of_worker(0, PackId(0));
        assert_eq!(
            tracker(&[1, 1]).killed(&others)[0].1.kind,
            FailureKind::PeerFailed
        );
    }

    #[test]
    fn repeated_events_are_dropped_and_phases_are_limited() {
        let mut tracker = working(&[1, 1]);
        for event in [event(READY), started(1)] {
            assert_eq!(tracker.see(&event), Verdict::Drop);
        }
        for _ in 0..PHASES {
            assert_eq!(tracker.see(&phase(1)), Verdict::Forward);
        }
        assert_eq!(tracker.see(&phase(1)), Verdict::Drop);
        assert_eq!(tracker.see(&succeeded(1)), Verdict::Forward);
    }

    #[test]
    fn early_events_are_violations_and_late_ones_are_dropped() {
        let violation = |verdict| matches!(verdict, Verdict::Violation(_));
        let mut early = tracker(&[1, 1]);
        assert!(violation(early.see(&started(1))));
        early.see(&event(READY));
        assert!(
            violation(early.see(&started(1))),
            "the flare was not started"
        );
        early.begin();
        assert!(violation(early.see(&succeeded(1))));
        assert!(violation(early.see(&phase(1))));
        assert_eq!(early.see(&started(1)), Verdict::Forward);
        assert_eq!(early.see(&succeeded(1)), Verdict::Forward);
        for late in [started(1), phase(1), succeeded(1)] {
            assert_eq!(early.see(&late), Verdict::Drop);
        }
        let failed =
            r#"{"event":"worker-failed","worker":1,"at":0,"error":{"kind":"error","message":""}}"#;
        assert_eq!(early.see(&event(failed)), Verdict::Drop);
        // A worker may fail before it has begun, if its pack did not join the flare.
        assert_eq!(tracker(&[1, 1]).see(&event(failed)), Verdict::Forward);
    }

    #[test]
    fn a_worker_of_another_pack_cannot_be_blamed() {
        let mut tracker = tracker(&[1, 2]);
        tracker.announce_exit(AnnouncedExit {
            worker: Some(0),
            signal: Some(6),
        });
        let (_, cause) = tracker.lost(FailureKind::Abort, "aborted");
        assert_eq!(cause.worker, None);
    }
}

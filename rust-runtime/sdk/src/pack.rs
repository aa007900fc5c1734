//! The state that the workers of one pack share during one flare, apart from messages.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use burst_bcm::{Failure, Pack};
use burst_protocol::WorkerSpans;

use crate::data::Loads;
use crate::state::WorkerStates;

/// Receives what workers report about themselves while they run.
pub(crate) trait Report: Send + Sync {
    /// `worker` entered a phase.
    fn phase(&self, worker: u32, name: &str);
    /// `worker` logs these lines.
    fn log(&self, worker: u32, text: &str);
}

/// One flare as seen from one pack.
pub(crate) struct PackContext {
    /// The id of this pack's first worker.
    pub(crate) first_worker: u32,
    pub(crate) deadline: SystemTime,
    /// The deadline on the monotonic clock.
    pub(crate) due: Instant,
    pub(crate) report: Arc<dyn Report>,
    pub(crate) loads: Loads,
    /// The state that the workers leave for the next flare of their group.
    pub(crate) states: Arc<WorkerStates>,
    pub(crate) pack: Pack,
    /// The workers' spans in the flare's trace.
    pub(crate) trace: Option<WorkerSpans>,
}

impl PackContext {
    /// Ends every blocked and every later operation of this pack's workers, and of their peers.
    /// Only the first failure counts.
    pub(crate) fn abort(&self, failure: Failure) {
        let failure = failure.unless_overdue(self.pack.is_overdue());
        self.loads.abort(&failure);
        self.pack.abort(failure);
    }
}

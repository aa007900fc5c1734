//! Why a pack is of no use any more.

use burst_protocol::Failure;

use crate::process_end::ProcessEnd;

/// Why a program runs no further flare.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NotReusable {
    /// Its last flare failed.
    #[error("{0}")]
    Failed(Failure),
    /// By its own words, or by saying what was not its turn.
    #[error("it said that it cannot be used again, or more than was its turn")]
    Declined,
    /// Nothing that follows could be understood.
    #[error("it said half an event after its flare had ended")]
    CutShort,
    /// A flare that is still to come could not speak with it.
    #[error("it closed a control socket on which no flare ran")]
    Closed,
    /// Its process has ended by itself, in this way.
    #[error("it {0}")]
    Died(ProcessEnd),
    /// It was stopped and goes on.
    #[error("its flare had ended, and it did not stay stopped")]
    NotStopped,
    /// Between a flare's end and its stop it took more than its share of the processors.
    #[error("its flare had ended, and threads of it went on computing")]
    Computing,
    /// One of the flares that run on it cannot be ended but with it.
    #[error("it is being ended because of another call in it")]
    Doomed,
    /// What it has started cannot be killed.
    #[error("processes it left behind do not end")]
    Unkillable,
}

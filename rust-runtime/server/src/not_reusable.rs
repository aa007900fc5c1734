//! Why a pack can no longer be used.

use burst_protocol::Failure;

use crate::process_end::ProcessEnd;

/// Why a program runs no further flare.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NotReusable {
    /// Its last flare failed.
    #[error("{0}")]
    Failed(Failure),
    /// It reported this itself, or sent an event out of turn.
    #[error("it said that it cannot be used again, or more than was its turn")]
    Declined,
    /// It sent half an event, so that nothing that follows could be understood.
    #[error("it said half an event after its flare had ended")]
    CutShort,
    /// It closed a control socket, so that a later flare could not communicate with it.
    #[error("it closed a control socket on which no flare ran")]
    Closed,
    /// Its process has ended on its own, in this way.
    #[error("it {0}")]
    Died(ProcessEnd),
    /// It was stopped, but goes on.
    #[error("its flare had ended, and it did not stay stopped")]
    NotStopped,
    /// It used too much processor time between its flare's end and its stop.
    #[error("its flare had ended, and threads of it went on computing")]
    Computing,
    /// One of its flares can only be ended by killing it.
    #[error("it is being ended because of another call in it")]
    Doomed,
    /// Processes that it has started cannot be killed.
    #[error("processes it left behind do not end")]
    Unkillable,
}

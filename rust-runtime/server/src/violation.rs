//! What a program says that cannot be true.

use burst_protocol::frame::EVENT_LIMIT;

/// Why a program is not to be trusted with what more it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolViolation {
    /// A frame is larger than any may be.
    #[error("the program sent a frame of more than {EVENT_LIMIT} bytes")]
    TooLong,
    /// An event is nested too deeply for readers that are recursive.
    #[error("it sent an event that is nested too deeply")]
    TooDeep,
    /// As the parser puts it, without the values in it.
    #[error("it sent an event that is none: {0}")]
    NoEvent(String),
    /// Its endpoint is at another address.
    #[error("it is reached where it was not told to be")]
    Elsewhere,
    /// The flare was not started yet.
    #[error("its worker {worker} began before the flare did")]
    TooEarly {
        /// Which.
        worker: u32,
    },
    /// There is something from a worker that was not said to have begun.
    #[error("its worker {worker} is at work but never began")]
    NeverBegan {
        /// Which.
        worker: u32,
    },
}

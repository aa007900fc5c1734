//! Messages of a program that cannot be true.

use burst_protocol::frame::EVENT_LIMIT;

/// Why further messages of a program are not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolViolation {
    /// A frame is larger than allowed.
    #[error("the program sent a frame of more than {EVENT_LIMIT} bytes")]
    TooLong,
    /// An event is nested too deeply for recursive readers.
    #[error("it sent an event that is nested too deeply")]
    TooDeep,
    /// A message is not an event: the parser's message, without the values in it.
    #[error("it sent an event that is none: {0}")]
    NoEvent(String),
    /// Its endpoint is at another address.
    #[error("it is reached where it was not told to be")]
    Elsewhere,
    /// A worker began before the flare was started.
    #[error("its worker {worker} began before the flare did")]
    TooEarly {
        /// The worker.
        worker: u32,
    },
    /// An event came from a worker that was not reported to have begun.
    #[error("its worker {worker} is at work but never began")]
    NeverBegan {
        /// The worker.
        worker: u32,
    },
}

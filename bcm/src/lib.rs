//! The burst communication middleware: how the workers of a flare talk to each other.
//!
//! A flare's workers are packed several to a process. Between workers of a pack a message is the
//! value itself: nothing is serialised or copied, and no other thread is involved. Between packs
//! a backend carries bytes, once per pack where the pattern allows.
//!
//! | topic | items |
//! | --- | --- |
//! | joining and leaving a flare | [`Pack`], [`PackConfig`] |
//! | which worker is in which pack | [`Topology`], [`PackId`] |
//! | sending, receiving, collectives, groups | [`Communicator`], [`Tag`] |
//! | operations in progress | [`SendRequest`], [`RecvRequest`], [`wait_any`] |
//! | types of values that can be sent | [`Payload`] |
//! | errors | [`Error`], [`Failure`] |
//! | running workers in a test | [`testing`] |
//!
//! ```
//! use burst_bcm::{BackendConfig, testing};
//!
//! // Two workers in one pack; worker 1 gets the very vector worker 0 made.
//! let results = testing::run(&[2], &BackendConfig::new("memory"), |worker| {
//!     if worker.worker_id() == 0 {
//!         worker.send(vec![0u8; 1 << 20], 1)?;
//!         Ok(0)
//!     } else {
//!         Ok(worker.recv::<Vec<u8>>(0)?.len())
//!     }
//! });
//! assert_eq!(results, [Ok(0), Ok(1 << 20)]);
//! ```

mod address;
mod call_history;
mod cancellation;
mod collective;
mod communicator;
mod config;
mod connections;
mod context;
mod credential_request;
mod error;
mod failure;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod group;
mod groups;
mod interruptions;
mod invalid;
mod local;
mod mailboxes;
mod message;
mod number;
mod operation;
mod pack;
mod pack_id;
mod payload;
mod point_to_point;
mod rank;
mod remote;
mod request;
mod shared;
mod tag;
pub mod testing;
mod topology;
mod wire;

pub use communicator::Communicator;
pub use config::{
    BackendConfig, DEFAULT_MAX_BYTES_IN_FLIGHT, DEFAULT_MAX_MESSAGE, DEFAULT_OPERATION_TIMEOUT,
    PackConfig, Secret,
};
pub use connections::Connections;
pub use credential_request::{CredentialRequest, IssuedBackend};
pub use error::{Error, Peer};
pub use failure::{Failure, FailureKind};
pub use invalid::{InvalidArgument, InvalidBackend, InvalidConfiguration};
pub use number::{Number, Reducer};
pub use operation::Operation;
pub use pack::Pack;
pub use pack_id::PackId;
pub use payload::Payload;
pub use remote::{
    ServerAddress, Traffic, backends, default_chunk_size, issue_credentials, servers,
};
pub use request::{RecvRequest, SendRequest, wait_any};
pub use tag::Tag;
pub use topology::Topology;

/// Deletes everything that a flare left on a backend. A process outside the packs calls this when
/// the flare ends, however it ends. It does nothing for backends that keep no state, nor on
/// RabbitMQ for a flare without a user of its own, whose queues the server deletes a minute after
/// their packs have gone.
///
/// # Errors
/// [`Error::InvalidConfiguration`] when the backend does not exist; [`Error::Backend`] when its
/// server cannot be reached.
pub fn cleanup(flare_id: &str, backend: &BackendConfig) -> Result<(), Error> {
    remote::clean(flare_id, backend)
}

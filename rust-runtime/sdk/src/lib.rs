//! The SDK for Burst work functions.
//!
//! A work function is one Rust function. It is written once and runs unchanged on any number of
//! workers, however they are packed:
//!
//! ```
//! use burst::{BurstContext, Error};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Input {
//!     numbers: Vec<f64>,
//! }
//!
//! #[derive(Serialize)]
//! struct Output {
//!     mean: f64,
//! }
//!
//! fn work(input: Input, burst: &BurstContext) -> Result<Output, Error> {
//!     burst.phase("sum");
//!     let own = (input.numbers.iter().sum::<f64>(), input.numbers.len());
//!     let total = burst.all_reduce(own, |a, b| (a.0 + b.0, a.1 + b.1))?;
//!     if total.1 == 0 {
//!         return Err(Error::new("there are no numbers"));
//!     }
//!     Ok(Output { mean: total.0 / total.1 as f64 })
//! }
//!
//! # mod deployable {
//! #     use super::*;
//! burst::main!(work);
//! # }
//!
//! # fn main() -> Result<(), burst::testing::FlareFailed> {
//! // The same function in a test: two workers, each in a pack of its own.
//! let inputs = [vec![1.0, 2.0], vec![6.0]].map(|numbers| Input { numbers });
//! let outputs = burst::testing::run(work, inputs, 1)?;
//! assert_eq!(outputs[0].mean, 3.0);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | [`BurstContext`] | a worker's identity, its flare, its logs, phases and state |
//! | [`Communicator`] | communication between workers: the methods of every context, and of groups |
//! | [`data`] | loading input data once per pack |
//! | [`testing`] | running a work function in a test |
//! | [`Error`] | the error of a work function |

mod attribution;
mod capture;
mod context;
mod control_socket;
pub mod data;
#[cfg(doctest)]
mod doc_tests;
mod error;
mod flare;
mod inherited;
mod interpose;
mod json;
mod pack;
mod panics;
#[doc(hidden)]
pub mod program;
mod state;
pub mod testing;
mod worker;
mod worker_threads;

pub use burst_bcm::{Communicator, Failure, FailureKind, Number, PackId, Payload, Reducer};
pub use burst_bcm::{RecvRequest, SendRequest, Tag, wait_any};
pub use context::BurstContext;
pub use error::Error;
pub use state::State;
pub use worker::Work;

/// The errors of communication, for code that distinguishes them.
pub use burst_bcm::Error as CommunicationError;

/// Makes a binary crate deployable: this line is its `main`.
///
/// ```no_run
/// fn work(name: String, burst: &burst::BurstContext) -> Result<String, burst::Error> {
///     Ok(format!("Hello {name}, from worker {}", burst.worker_id()))
/// }
///
/// burst::main!(work);
/// ```
#[macro_export]
macro_rules! main {
    ($work:path) => {
        fn main() -> ::std::process::ExitCode {
            $crate::program::run($work)
        }
    };
}

//! A client of a Burst platform's HTTP API.
//!
//! A [`Client`] is a caller with credentials. Each operation of the API is a method of it, named as in the API's
//! description (`openapi.yaml`, which a platform serves at `/api/v1/openapi.yaml`) but in snake case. The methods and
//! the types of requests and answers are generated from that description. Only those are written by hand that start
//! flares ([`Client::flare`], [`Client::flare_on_group`]), call actions, which answer any JSON ([`Client::invoke`],
//! [`Client::invoke_of_package`]), or list a package's actions ([`Client::list_actions_of_package`]).
//!
//! ```no_run
//! use std::thread;
//! use std::time::Duration;
//!
//! use burst_client::{Client, Error, FlareRequest, FlareState};
//!
//! fn main() -> Result<(), Error> {
//!     let client = Client::new("127.0.0.1:3233", "uuid:key")?;
//!     let request = FlareRequest { size: Some(8), ..FlareRequest::default() };
//!     let id = client.flare("hello", &request)?.read()?.flare_id;
//!     let flare = loop {
//!         let flare = client.get_flare(&id)?.read()?;
//!         if flare.state.is_final() {
//!             break flare;
//!         }
//!         thread::sleep(Duration::from_millis(50));
//!     };
//!     if flare.state == FlareState::Succeeded {
//!         client.get_result(&id)?.each(|output| {
//!             let greeting: Option<String> = output.read()?;
//!             println!("worker {}: {}", output.worker, greeting.unwrap_or_default());
//!             Ok::<(), Error>(())
//!         })?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Blocking
//!
//! Every method blocks until the platform has answered, or returns an [`Error::NoAnswer`]. An answer must begin within
//! 30 seconds, and no gap in it may be longer, unless [`Builder::timeout`] sets another time; reading it may take that
//! time, and a second more per 16 KiB. A request with a large body gets one second more per 128 KiB, for its whole
//! answer. A client is cheap to clone, and clones can be used on
//! several threads at once; none may be used inside an asynchronous runtime.
//!
//! # Repeats
//!
//! A call that starts something (a flare, a group, an action) is sent with a key of its own, so that the platform
//! carries it out once however often it arrives. When the connection breaks, the client therefore repeats the call:
//! four times within eight seconds. No other call is repeated.
//!
//! # Answers
//!
//! An [`Answer`] is kept as the text that arrived and parsed on demand, so it can be passed on unchanged. A result or a
//! log, which may be large, is a [`Body`]: read it whole or element by element. At most 256 MiB are held in memory.
//! Times are [`SystemTime`](std::time::SystemTime)s and durations [`Duration`](std::time::Duration)s, whatever unit the
//! API has them in. What work functions return and take is raw JSON
//! ([`RawValue`](serde_json::value::RawValue)), so that no digit is lost.
//!
//! A newer platform is understood as far as possible: fields that this version does not know are ignored, and a name
//! that it does not know, such as a new state, becomes an `Unknown` that keeps it.
//!
//! # Errors
//!
//! [`Error`] distinguishes a refusal, with the platform's sentence that says what to change, from a platform that
//! cannot be reached, does not answer, or sends an answer that the API does not allow.

mod actions;
mod address;
mod answer;
mod bounded;
mod builder;
mod call;
mod calls;
mod causes;
mod client;
mod error;
mod flares;
mod model;
mod observer;
mod repeat;
mod streamed;
mod vocabulary;

pub use actions::{InvokeQuery, Invoked};
pub use address::AddressError;
pub use answer::{Answer, Body};
pub use builder::Builder;
pub use calls::*;
pub use causes::{AnswerError, ConnectionError, RequestError, SetupError};
pub use client::Client;
pub use error::Error;
pub use flares::Waited;
pub use model::*;
pub use observer::Observer;
pub use reqwest;
pub use streamed::Streamed;

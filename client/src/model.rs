//! What the API's requests and answers say.
//!
//! Times are microseconds since the epoch, but those of activations milliseconds, as with OpenWhisk; time-outs are
//! milliseconds, memory MiB per worker, other sizes bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::streamed::Streamed;
use crate::vocabulary::vocabulary;

/// A value that is there, if only `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

include!(concat!(env!("OUT_DIR"), "/model.rs"));

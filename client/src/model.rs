//! The types of the API's requests and answers.
//!
//! Times are in microseconds since the epoch, except those of activations, which are in milliseconds as in OpenWhisk;
//! time-outs are in milliseconds, memory in MiB per worker, other sizes in bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::streamed::Streamed;
use crate::vocabulary::vocabulary;

/// Reads a value that is present, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

include!(concat!(env!("OUT_DIR"), "/model.rs"));

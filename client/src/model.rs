//! The types of the API's requests and answers.
//!
//! Memory is in MiB per worker, other sizes in bytes. Times have microseconds, but milliseconds in what OpenWhisk's clients
//! read; durations have milliseconds, to which they are rounded when they are sent.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_with::{As, DurationMilliSeconds, TimestampMicroSeconds, TimestampMilliSeconds};

use crate::streamed::Streamed;
use crate::vocabulary::vocabulary;

/// Reads a value that is present, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

include!(concat!(env!("OUT_DIR"), "/model.rs"));

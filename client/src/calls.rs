//! The API's operations.

use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, Body};
use crate::call::Call;
use crate::client::Client;
use crate::error::Error;
use crate::model::*;

/// A time in a query. Nothing that the platform tells of is older than the epoch.
fn epoch_milliseconds(time: SystemTime) -> u128 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis()
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

//! The API's operations.

use reqwest::Method;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, Body};
use crate::call::{Call, NAMESPACE};
use crate::client::Client;
use crate::error::Error;
use crate::model::*;

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

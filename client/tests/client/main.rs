//! Tests of the client, with platforms that answer as a test scripts them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod identity;
mod platform;
mod repeats;
mod units;

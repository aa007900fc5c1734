//! The client, and platforms of which it hears what a test has them say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod identity;
mod platform;
mod repeats;

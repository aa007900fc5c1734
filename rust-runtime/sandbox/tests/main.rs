//! Sandboxes with a probe in them. Each test runs as root, if it is started by root, and as an ordinary user.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod delivery;
mod directories;
mod ends;
mod internet;
mod isolation;
mod leaks;
mod limits;
mod peers;
mod refusals;
mod servers;
mod sockets;
mod support;

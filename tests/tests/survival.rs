//! What survives: clusters whose nodes are killed, stopped, parted and replaced again and again, under load, and a
//! platform whose database or disk is away for a while. One after the other they take as long as everything else that
//! `make test` runs, so that they are a command of their own: `make test-survival`. One fault of each kind is among
//! `clusters`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarms;
mod handovers;
mod kills;
mod one_cluster;
mod outages;
mod soak;
mod upgrading;

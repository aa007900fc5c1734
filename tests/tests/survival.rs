//! Survival: clusters whose nodes are repeatedly killed, stopped, partitioned and replaced under load, and a platform
//! that loses its database or disk for a while. Run one after another they take as long as everything else in `make
//! test`, so they have a command of their own: `make test-survival`. One fault of each kind is tested among `clusters`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarms;
mod handovers;
mod kills;
mod one_cluster;
mod outages;
mod soak;
mod upgrading;

//! Whole-system tests of clusters: controllers and invokers as separate processes. They share nothing but this machine,
//! so that several can run at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod cluster_tls;
mod draining;
mod load;
mod machines;
mod one_fault;

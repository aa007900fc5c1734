//! One suite, run against every backend.
//!
//! `memory` and `direct` need nothing; for the others the harness starts a server of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chunking;
mod collectives;
mod direct;
mod endings;
mod failures;
mod faults;
mod flow;
mod groups;
mod harness;
mod nonblocking;
mod pack_process;
mod point_to_point;
mod process;
mod properties;
mod proxy;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "management")]
mod rabbitmq_tenants;
mod redis;
mod redis_connections;
mod redis_losses;
mod redis_tenants;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "s3")]
mod s3_tenants;
mod second;
mod server_faults;
mod volume;
mod watch;

/// Defines each test once per backend.
macro_rules! on_every_backend {
    ($($(#[$attribute:meta])* fn $name:ident($backend:ident) $body:block)*) => {
        mod suite {
            #[allow(unused_imports)]
            use super::*;
            $(pub(super) fn $name($backend: &crate::harness::Backend) $body)*
        }
        mod memory {
            $(#[test] fn $name() { crate::harness::on("memory", super::suite::$name); })*
        }
        mod direct {
            $(#[test] fn $name() { crate::harness::on("direct", super::suite::$name); })*
        }
        mod direct_second {
            $(#[test] fn $name() { crate::harness::on_second("direct", super::suite::$name); })*
        }
        mod direct_tcp {
            $(#[test] fn $name() { crate::harness::on("direct-tcp", super::suite::$name); })*
        }
        mod faults {
            $(#[test] fn $name() { crate::harness::on("faults", super::suite::$name); })*
        }
        mod redis_list {
            $(#[test] fn $name() { crate::harness::on("redis-list", super::suite::$name); })*
        }
        mod redis_list_second {
            $(#[test] fn $name() { crate::harness::on_second("redis-list", super::suite::$name); })*
        }
        #[cfg(feature = "rabbitmq")]
        mod rabbitmq {
            $(#[test] fn $name() { crate::harness::on("rabbitmq", super::suite::$name); })*
        }
        #[cfg(feature = "s3")]
        mod s3 {
            $(#[test] fn $name() { crate::harness::on("s3", super::suite::$name); })*
        }
        mod redis_stream {
            $(#[test] fn $name() { crate::harness::on("redis-stream", super::suite::$name); })*
        }
        mod redis_stream_second {
            $(#[test] fn $name() { crate::harness::on_second("redis-stream", super::suite::$name); })*
        }
    };
}
pub(crate) use on_every_backend;

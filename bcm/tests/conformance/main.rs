//! One suite, run against every backend.
//!
//! `memory` and `direct` need nothing; for the others the harness starts servers.
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

/// Defines each test once per backend: those of the library's list and, below, variants.
macro_rules! on_every_backend {
    ($($(#[$attribute:meta])* fn $name:ident($backend:ident) $body:block)*) => {
        mod suite {
            #[allow(unused_imports)]
            use super::*;
            $(pub(super) fn $name($backend: &crate::harness::Backend) $body)*
        }
        burst_bcm::each_backend! { crate::suites, [$($name)*] }
        crate::suites! { [$($name)*]
            memory; faults; direct_tcp; direct_second; redis_list_second; redis_stream_second;
        }
    };
}
pub(crate) use on_every_backend;

/// A module of tests for each backend, named after it.
macro_rules! suites {
    ($tests:tt $($backend:ident $(: $($module:ident)::+)? $(if $feature:tt)?;)*) => {
        $($(#[cfg(feature = $feature)])? mod $backend { crate::suite! { $backend $tests } })*
    };
}
pub(crate) use suites;

macro_rules! suite {
    ($backend:ident [$($test:ident)*]) => {
        $(#[test] fn $test() { crate::harness::on(stringify!($backend), super::suite::$test); })*
    };
}
pub(crate) use suite;

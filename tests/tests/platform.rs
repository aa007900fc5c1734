//! Whole-system tests of a platform in one process, `burst standalone`. They share nothing but this machine and, one
//! after another, lent platforms (`burst_tests::lending`), so that several can run at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asked_again;
mod at_once;
mod bad_input;
mod bad_packages;
mod blackbox;
mod breaking_out;
mod calling_back;
mod cancelling;
mod collectives;
mod concurrency;
mod curl_path;
mod failures;
mod groups;
mod hostile;
mod installed;
mod isolation;
mod kinds;
mod large;
mod lending;
mod neighbours;
mod openwhisk_api;
mod openwhisk_clients;
mod ordinary_user;
mod overload;
mod restart;
mod roots;
mod scheduling;
mod sharing;
mod slow_clients;
mod small_heap;
mod started_ahead;
mod tenants;
mod times;
mod tls;
mod user_path;
mod variables;
mod versions;

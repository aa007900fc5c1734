//! Harness of the whole-system tests in `tests/tests/`.
//!
//! | idea | file |
//! | --- | --- |
//! | start a platform, stop it, check that nothing is left | `platform`, `driver`, `settings`, `leftovers` |
//! | borrow a running platform, and return it unchanged | `lending`, `borrower`, `administrator` |
//! | start a cluster of controllers and invokers, inject faults | `cluster`, `invariants` |
//! | continuous flares, faults | `traffic`, `faults` |
//! | one process of either, its timeouts, and the ordinary user it runs as | `node`, `patience`, `account` |
//! | what a node runs: processes, listening ports, containers | `processes`, `docker` |
//! | clients: HTTP, raw sockets, the CLI | `api` and `actions` on `burst_client`; `wire`, `cli` |
//! | every backend, with its server | `backends` |
//! | servers for tests: Redis, RabbitMQ, PostgreSQL, S3; their ports | `burst_test_servers` |
//! | a machine that can be cut off, controllers that can be partitioned, a clock that can be set, files on the disk and a full disk | `network`, `clock`, `disk` |
//! | a proxy that cuts connections | `cutting` |
//! | certificates | `certificates` |
//! | an image as the root of packs | `image` |
//! | two tenants, and a flare of one that the other's must not disturb | `tenants`, `neighbour` |
//! | a client that retries; the work function that records its runs | `patient`; `counted` |
//! | many clients at once; invocations whose records are all checked | `load`; `invocations` |
//! | packages, good and broken | `package` |
//! | refused requests change nothing | `unchanged` |
//! | the work function whose behaviour its input chooses | `failing` |
//! | the work function that tries to break out | `escaping` |
//! | the work function that calls every operation | `collectives` |
//! | locations of built artefacts; waiting with a deadline | `built`; `burst_test_servers` |
//!
//! The platform runs as an ordinary user, whoever runs the tests, except in tests of sandboxes that request root
//! ([`Settings::as_root`]). The tests themselves also need root if they cut cables, open rifts or fill disks
//! ([`network::Cable`], [`network::Partition`], [`disk::SmallDisk`]): those in `one_fault` and the suite `survival`.
//!
//! Nothing here sleeps to synchronise: every wait polls observable state and has a deadline, and every platform is
//! killed when its test exceeds its time limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod account;
mod actions;
pub mod administrator;
pub mod api;
pub mod backends;
mod borrower;
pub mod built;
pub mod certificates;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod collectives;
pub mod control_groups;
pub mod counted;
pub mod cutting;
pub mod disk;
pub mod docker;
pub mod driver;
pub mod escaping;
pub mod failing;
pub mod faults;
pub mod image;
pub mod invariants;
pub mod invocations;
pub mod leftovers;
pub mod lending;
pub mod load;
pub mod neighbour;
pub mod network;
pub mod node;
pub mod package;
mod patience;
pub mod patient;
pub mod platform;
pub mod processes;
pub mod settings;
pub mod tenants;
pub mod times;
pub mod traffic;
pub mod unchanged;
pub mod wire;

pub use api::{Answer, Api, read_json, refused};
pub use burst_test_servers::{
    BackendServer, Postgres, RabbitMq, Redis, S3Process, S3Server, command, port, postgres,
    rabbitmq, wait,
};
pub use cluster::Cluster;
pub use driver::Driver;
pub use lending::Loan;
pub use neighbour::Neighbour;
pub use platform::Platform;
pub use settings::Settings;
pub use tenants::{Tenant, Tenants};

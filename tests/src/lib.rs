//! Harness of the whole-system tests in `tests/tests/`.
//!
//! | idea | file |
//! | --- | --- |
//! | start a platform, stop it, prove that nothing is left | `platform`, `driver`, `settings`, `leftovers` |
//! | have one that runs already, and leave it as it was | `lending`, `borrower`, `administrator` |
//! | start a cluster of controllers and invokers, fault it | `cluster`, `invariants` |
//! | flares that keep coming, faults | `traffic`, `faults` |
//! | one process of either, how patient it is, and the ordinary user it is | `node`, `patience`, `account` |
//! | what it runs: processes, listening ports, containers | `processes`, `docker` |
//! | talk to it: HTTP, raw sockets, the CLI | `api` and `actions` on `burst_client`; `wire`, `cli` |
//! | every backend, with its server | `backends` |
//! | servers of one's own: Redis, RabbitMQ, PostgreSQL, S3; their ports | `burst_test_servers` |
//! | a machine that can be cut off, controllers that can be parted, a clock that can be set, what lies on the disk and one that is full | `network`, `clock`, `disk` |
//! | somebody in between who ends connections | `cutting` |
//! | certificates | `certificates` |
//! | an image as packs' root | `image` |
//! | two tenants, and one's flare that the other's must not disturb | `tenants`, `neighbour` |
//! | a client that asks again; the work function that notes its runs | `patient`; `counted` |
//! | many clients at once; invocations whose records are all looked at | `load`; `invocations` |
//! | packages, good and broken | `package` |
//! | refused requests change nothing | `unchanged` |
//! | the work function whose behaviour its input chooses | `failing` |
//! | the work function that tries to break out | `escaping` |
//! | the work function that calls every operation | `collectives` |
//! | where built things are; waiting with a deadline | `built`; `burst_test_servers` |
//!
//! The platform runs as an ordinary user, whoever runs the tests, but for tests of sandboxes that say otherwise
//! ([`Settings::as_root`]). Root is needed by the tests themselves, too, where they cut cables, open rifts or fill disks ([`network::Cable`], [`network::Rift`],
//! [`disk::SmallDisk`]): those in `one_fault` and the suite `survival`.
//!
//! Nothing here sleeps to synchronise: every wait polls observable state and has a deadline, and
//! every platform is killed when its test takes longer than it may.
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
pub mod traffic;
pub mod unchanged;
pub mod wire;

pub use api::{Answer, Api, read_json, refused};
pub use burst_test_servers::{
    BackendServer, Postgres, RabbitMq, Redis, S3Process, command, port, postgres, rabbitmq, wait,
};
pub use cluster::Cluster;
pub use driver::Driver;
pub use lending::Loan;
pub use neighbour::Neighbour;
pub use platform::Platform;
pub use settings::Settings;
pub use tenants::{Tenant, Tenants};

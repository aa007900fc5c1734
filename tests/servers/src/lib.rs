//! Servers for tests and benchmarks. Each has its own port and ends when it is dropped, or when the process that
//! started it ends, however it ends.
//!
//! A server that cannot be started fails the test that needs it, with a message about what to install.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod backend;
pub mod certificate;
pub mod command;
pub mod lent;
pub mod port;
pub mod postgres;
pub mod rabbitmq;
pub mod redis;
pub mod s3;
mod s3_files;
pub mod s3_process;
mod stopping;
pub mod wait;

pub use rustix::process::Signal;

pub use backend::BackendServer;
pub use certificate::Certificate;
pub use lent::LentRabbitMq;
pub use postgres::Postgres;
pub use rabbitmq::RabbitMq;
pub use redis::Redis;
pub use s3::S3Server;
pub use s3_process::S3Process;

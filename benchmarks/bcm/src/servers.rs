//! The servers that are measured: the same ones that the library's tests use, each a process.

use burst_bcm::BackendConfig;
use burst_test_servers::{RabbitMq, Redis, S3Process, s3_process};
use std::process::Command;

/// The argument by which this program is an S3 service and nothing else.
pub const SERVE_S3: &str = "serve-s3";

/// All backends that two packs on different machines may use.
pub const BACKENDS: [&str; 5] = ["direct", "redis-list", "redis-stream", "rabbitmq", "s3"];

/// What a backend needs; ends when dropped.
pub enum Server {
    None,
    Redis(Redis),
    RabbitMq(RabbitMq),
    S3(S3Process),
}

impl Server {
    /// The server of a backend, started and empty.
    pub fn of(backend: &str) -> Self {
        match backend {
            "redis-list" | "redis-stream" => Self::Redis(Redis::start()),
            "rabbitmq" => Self::RabbitMq(RabbitMq::start("")),
            "s3" => {
                let mut this = Command::new(std::env::current_exe().unwrap());
                this.arg(SERVE_S3);
                Self::S3(S3Process::of(this))
            }
            _ => Self::None,
        }
    }

    /// A backend on this server.
    pub fn config(&self, backend: &str) -> BackendConfig {
        let config = BackendConfig::new(backend);
        match self {
            Self::None => config,
            Self::Redis(server) => config.with_uri(server.uri()),
            Self::RabbitMq(server) => config.with_uri(server.uri()),
            Self::S3(server) => config.with_uri(server.uri()),
        }
    }
}

/// What this program is with that argument.
pub fn serve_s3() {
    s3_process::serve("127.0.0.1").unwrap();
}

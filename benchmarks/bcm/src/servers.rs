//! The servers that are measured: the same ones that the library's tests use, each a process.

use burst_bcm::BackendConfig;
use rabbitmq_server::RabbitServer;
use redis_server::RedisServer;
use s3_server::S3Server;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

#[path = "../../../bcm/tests/conformance/port.rs"]
mod port;
#[allow(dead_code)]
#[path = "../../../bcm/tests/conformance/rabbitmq_server.rs"]
mod rabbitmq_server;
#[allow(dead_code)]
#[path = "../../../bcm/tests/conformance/redis_server.rs"]
pub mod redis_server;
#[allow(dead_code)]
#[path = "../../../bcm/tests/conformance/s3_server.rs"]
mod s3_server;

/// The argument by which this program is an S3 service and nothing else.
pub const SERVE_S3: &str = "serve-s3";

/// All backends that two packs on different machines may use.
pub const BACKENDS: [&str; 5] = ["direct", "redis-list", "redis-stream", "rabbitmq", "s3"];

/// What a backend needs; ends when dropped.
pub enum Server {
    None,
    Redis(RedisServer),
    RabbitMq(RabbitServer),
    S3(S3Process),
}

impl Server {
    /// The server of a backend, started and empty.
    pub fn of(backend: &str) -> Self {
        match backend {
            "redis-list" | "redis-stream" => Self::Redis(RedisServer::start()),
            "rabbitmq" => Self::RabbitMq(RabbitServer::start("")),
            "s3" => Self::S3(S3Process::start()),
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
            Self::S3(server) => config.with_uri(&server.uri),
        }
    }
}

/// An S3 service over a directory of its own.
pub struct S3Process {
    child: Child,
    uri: String,
}

impl S3Process {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(SERVE_S3)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut uri = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut uri).unwrap();
        let uri = uri.trim().to_owned();
        Self { child, uri }
    }
}

impl Drop for S3Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until the input ends; says where on the output.
pub fn serve_s3() {
    let server = S3Server::start();
    println!("{}", server.uri());
    let _ = std::io::stdin().read(&mut [0]);
}

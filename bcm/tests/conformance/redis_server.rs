//! A Redis server of a test's own, on a port nobody else has.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The password every server is given, so that logging in is tested too.
pub const PASSWORD: &str = "conformance-password";

/// Ends when dropped.
pub struct RedisServer {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl RedisServer {
    pub fn start() -> Self {
        for _ in 0..20 {
            if let Some(server) = Self::try_start(&[]) {
                return server;
            }
        }
        panic!("redis-server did not start on any port");
    }

    /// A server with further settings.
    pub fn with(settings: &[&str]) -> Self {
        Self::try_start(settings).expect("redis-server did not start")
    }

    /// `None` when someone else took the port in the meantime.
    fn try_start(settings: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args([
                "--save",
                "",
                "--appendonly",
                "no",
                "--requirepass",
                PASSWORD,
            ])
            .arg("--dir")
            .arg(directory.path())
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is missing; install it, on Debian with: apt-get install redis");
        let mut log = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 {
            if line.contains("Ready to accept connections") {
                // Nobody reads on, but it must not be killed by what it writes.
                std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
                return Some(Self {
                    child,
                    port,
                    _directory: directory,
                });
            }
            line.clear();
        }
        let _ = child.wait();
        None
    }

    pub fn uri(&self) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{}/0", self.port)
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the server something, with the client everybody knows.
    pub fn ask<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        let client = redis::Client::open(self.uri()).unwrap();
        let mut connection = client.get_connection().unwrap();
        let (name, arguments) = command.split_first().unwrap();
        redis::cmd(name)
            .arg(arguments)
            .query(&mut connection)
            .unwrap()
    }

    pub fn keys(&self) -> Vec<String> {
        self.ask(&["KEYS", "*"])
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

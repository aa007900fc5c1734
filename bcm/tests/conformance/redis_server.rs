//! A Redis server of a test's own, on a port nobody else has.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::port;

/// The password every server is given, so that logging in is tested too.
pub const PASSWORD: &str = "conformance-password";

/// Ends when dropped.
pub struct RedisServer {
    child: Child,
    port: u16,
    directory: TempDir,
    settings: Vec<String>,
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

    /// A server that has what another one has.
    pub fn replica_of(master: &Self) -> Self {
        let master = format!("127.0.0.1 {}", master.port);
        let replica = Self::with(&["--replicaof", &master, "--masterauth", PASSWORD]);
        loop {
            let info: String = replica.ask(&["INFO", "replication"]);
            if info.contains("master_link_status:up") {
                return replica;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// `None` when someone else took the port in the meantime.
    fn try_start(settings: &[&str]) -> Option<Self> {
        let port = port::free("127.0.0.1");
        let directory = tempfile::tempdir().unwrap();
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        Some(Self {
            child: Self::launch(port, directory.path(), &settings)?,
            port,
            directory,
            settings,
        })
    }

    fn launch(port: u16, directory: &Path, settings: &[String]) -> Option<Child> {
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(["--requirepass", PASSWORD])
            .arg("--dir")
            .arg(directory)
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
                return Some(child);
            }
            line.clear();
        }
        let _ = child.wait();
        None
    }

    pub fn uri(&self) -> String {
        self.uri_at(self.port)
    }

    /// The address of the server as seen through another port.
    pub fn uri_at(&self, port: u16) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{port}/0")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status();
        assert!(sent.unwrap().success());
    }

    /// Kills the server and starts it again on the same port, with what it had on disk.
    pub fn restart(&mut self) {
        self.kill();
        let started = Self::launch(self.port, self.directory.path(), &self.settings);
        self.child = started.expect("redis-server did not start again");
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

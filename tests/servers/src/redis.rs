//! A Redis server for one test.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::command::{self, Lines};
use crate::{Signal, port, stopping, wait};

/// The password of every server, so that logging in is tested too. It must never appear in a log.
pub const PASSWORD: &str = "redis-password-of-tests";

const ATTEMPTS: usize = 20;
/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Redis server. It ends when dropped.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    host: String,
    port: u16,
    directory: TempDir,
    settings: Vec<String>,
}

impl Redis {
    /// Starts a server reachable from this machine only.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// Starts a server at one of this machine's addresses.
    #[track_caller]
    pub fn start_at(host: &str) -> Self {
        Self::start_with(host, &[])
    }

    /// Starts a server with additional settings.
    #[track_caller]
    pub fn with(settings: &[&str]) -> Self {
        Self::start_with("127.0.0.1", settings)
    }

    /// Starts a replica of another server and waits until it is in sync.
    #[track_caller]
    pub fn replica_of(master: &Self) -> Self {
        let address = format!("{} {}", master.host, master.port);
        let replica = Self::with(&["--replicaof", &address, "--masterauth", PASSWORD]);
        wait::until("the replica has what its master has", wait::SOON, || {
            let info: String = replica.ask(&["INFO", "replication"]);
            info.contains("master_link_status:up").then_some(())
        });
        replica
    }

    /// Retries, as another process can take a port between its choice and the server's bind.
    #[track_caller]
    fn start_with(host: &str, settings: &[&str]) -> Self {
        let started = (0..ATTEMPTS).find_map(|_| Self::try_start(host, settings));
        started.unwrap_or_else(|| panic!("redis-server ended at once {ATTEMPTS} times on {host}"))
    }

    #[track_caller]
    fn try_start(host: &str, settings: &[&str]) -> Option<Self> {
        let port = port::free(host);
        let directory = tempfile::tempdir().unwrap();
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        Some(Self {
            child: Self::launch(host, port, directory.path(), &settings)?,
            host: host.to_owned(),
            port,
            directory,
            settings,
        })
    }

    /// Returns none if the server ended immediately.
    #[track_caller]
    fn launch(host: &str, port: u16, directory: &Path, settings: &[String]) -> Option<Child> {
        let mut server = Command::new("redis-server");
        server
            .arg("-")
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command::spawn(server).unwrap_or_else(|cause| {
            panic!(
                "redis-server cannot be started ({cause}): install it, on Debian with: apt-get install redis-server; \
                 tests/prepare.sh does"
            )
        });
        // Through its input, so that the password appears in no list of processes.
        let configuration = format!(
            "bind {host}\nport {port}\nrequirepass {PASSWORD}\nsave \"\"\nappendonly no\ndir {}\n",
            directory.display()
        );
        let mut input = child.stdin.take().unwrap();
        input.write_all(configuration.as_bytes()).unwrap();
        drop(input);
        let log = Lines::of(child.stdout.take().unwrap());
        while let Some(line) = log.next() {
            if line.contains("Ready to accept connections") {
                return Some(child);
            }
        }
        let _ = child.wait();
        None
    }

    /// `redis://:password@host:port/0`.
    pub fn uri(&self) -> String {
        self.uri_at(self.port)
    }

    /// The address of the server through another port of its host.
    pub fn uri_at(&self, port: u16) -> String {
        format!("redis://:{PASSWORD}@{}:{port}/0", self.host)
    }

    /// The password, which must never appear in a log.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        stopping::signal(&self.child, signal);
    }

    /// Kills the server and starts it again on the same port, with the data it had on disk.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        let started = Self::launch(&self.host, self.port, self.directory.path(), &self.settings);
        self.child = started.expect("redis-server did not start again");
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Runs a command on the server, with the commonly used client.
    #[track_caller]
    pub fn ask<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        self.ask_in(0, command)
    }

    #[track_caller]
    fn ask_in<T: redis::FromRedisValue>(&self, database: u8, command: &[&str]) -> T {
        let client = redis::Client::open(self.uri()).unwrap();
        let mut connection = client.get_connection_with_timeout(PATIENCE).unwrap();
        redis::cmd("SELECT")
            .arg(database)
            .exec(&mut connection)
            .unwrap();
        let (name, arguments) = command.split_first().unwrap();
        let asked = redis::cmd(name).arg(arguments).query(&mut connection);
        asked.unwrap()
    }

    /// All keys, in order.
    #[track_caller]
    pub fn keys(&self) -> Vec<String> {
        self.keys_in(0)
    }

    /// All keys of one of its databases, in order.
    #[track_caller]
    pub fn keys_in(&self, database: u8) -> Vec<String> {
        let mut keys: Vec<String> = self.ask_in(database, &["KEYS", "*"]);
        keys.sort();
        keys
    }

    /// The names of its users, in order.
    #[track_caller]
    pub fn users(&self) -> Vec<String> {
        let mut users: Vec<String> = self.ask(&["ACL", "USERS"]);
        users.sort();
        users
    }

    /// How many commands the server has executed since it started.
    #[track_caller]
    pub fn commands(&self) -> u64 {
        let info: redis::InfoDict = self.ask(&["INFO", "stats"]);
        info.get("total_commands_processed").unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_accepts_only_its_password() {
        let server = Redis::start();
        assert!(server.keys().is_empty());
        let locked = redis::Client::open(server.uri().replace(PASSWORD, "guess")).unwrap();
        assert!(locked.get_connection().is_err());
    }

    #[test]
    fn a_restarted_server_keeps_its_data() {
        let mut server = Redis::with(&["--appendonly", "yes", "--appendfsync", "always"]);
        let _: () = server.ask(&["SET", "key", "value"]);
        server.restart();
        assert_eq!(server.keys(), ["key"]);
    }
}

//! A real Redis server for one test: random port, a password, nothing on disk.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::Commands;

use crate::{command, docker, port, wait};

const START_LIMIT: Duration = Duration::from_secs(60);
const ATTEMPTS: usize = 5;

/// A running server; dropping it stops it.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    uri: String,
    password: String,
}

impl Redis {
    /// A server for packs that are processes.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// A server that packs in containers reach.
    #[track_caller]
    pub fn start_for_docker() -> Self {
        Self::start_at(&docker::bridge_gateway())
    }

    /// `redis://:password@host:port`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What must never show in a log.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// All keys on the server, in order.
    pub fn keys(&self) -> Vec<String> {
        self.keys_in(0)
    }

    /// All keys of one of its databases, in order.
    pub fn keys_in(&self, database: u8) -> Vec<String> {
        let mut connection = self.connect().unwrap();
        redis::cmd("SELECT")
            .arg(database)
            .exec(&mut connection)
            .unwrap();
        let mut keys: Vec<String> = connection.keys("*").unwrap();
        keys.sort();
        keys
    }

    /// Names of the users who may do anything on the server, in order.
    pub fn users(&self) -> Vec<String> {
        let mut users: Vec<String> = redis::cmd("ACL")
            .arg("USERS")
            .query(&mut self.connect().unwrap())
            .unwrap();
        users.sort();
        users
    }

    /// How many commands the server has ever carried out.
    pub fn commands(&self) -> u64 {
        let info: redis::InfoDict = redis::cmd("INFO")
            .arg("stats")
            .query(&mut self.connect().unwrap())
            .unwrap();
        info.get("total_commands_processed").unwrap()
    }

    fn connect(&self) -> redis::RedisResult<redis::Connection> {
        redis::Client::open(self.uri.as_str())?.get_connection_with_timeout(START_LIMIT)
    }

    /// A server at one of this machine's addresses.
    /// Another process may take the port between the choice and the server's bind, so a server
    /// that ends at once is tried again on another port.
    #[track_caller]
    pub fn start_at(address: &str) -> Self {
        for _ in 0..ATTEMPTS {
            if let Some(server) = Self::try_start(address) {
                return server;
            }
        }
        panic!("redis-server ended at once {ATTEMPTS} times on {address}");
    }

    #[track_caller]
    fn try_start(address: &str) -> Option<Self> {
        let port = port::free(address);
        let password = format!("pass{}word{port}", std::process::id());
        let mut server = Command::new("redis-server");
        server.arg("-").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command::ends_with_its_test(&mut server)
            .spawn()
            .unwrap_or_else(|cause| {
                panic!(
                    "cannot start redis-server ({cause}): the Redis tests need the Debian package \
                     redis-server, `tests/prepare.sh` installs it"
                )
            });
        // The configuration goes through standard input, so that the password is in no process
        // list.
        let configuration = format!(
            "bind {address}\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\n"
        );
        child
            .stdin
            .take()
            .unwrap()
            .write_all(configuration.as_bytes())
            .unwrap();
        let uri = format!("redis://:{password}@{address}:{port}");
        let mut server = Self {
            child,
            uri,
            password,
        };
        let up = wait::until("redis-server answers", START_LIMIT, || {
            if server.child.try_wait().unwrap().is_some() {
                return Some(false);
            }
            server.connect().is_ok().then_some(true)
        });
        up.then_some(server)
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
    fn a_server_of_ones_own_answers_to_its_password_alone() {
        let server = Redis::start();
        assert!(server.keys().is_empty());
        let locked = server.uri().replace(server.password(), "guess");
        assert!(
            redis::Client::open(locked)
                .unwrap()
                .get_connection()
                .is_err()
        );
    }
}

//! A real PostgreSQL server for one test: a fresh cluster in a directory of its own, on a free port.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{command, port, wait};

/// The superuser, who owns the database of the same name.
pub const USER: &str = "postgres";
const HOST: &str = "127.0.0.1";
const LIMIT: Duration = wait::SOON;
/// Unflushed data is lost only if the machine goes down; that of a killed server is still in the kernel's memory.
const NO_FLUSHES: [&str; 4] = ["-c", "fsync=off", "-c", "full_page_writes=off"];

/// A server that can be killed and started again. Dropping it stops it immediately, so that it releases its shared
/// memory, which outlives a killed server.
#[derive(Debug)]
pub struct Postgres {
    directory: TempDir,
    programs: PathBuf,
    password: String,
    port: u16,
    flushes: bool,
    postmaster: Option<Child>,
}

impl Postgres {
    /// Starts a fresh server with the default settings, reachable from this machine.
    #[track_caller]
    pub fn start() -> Self {
        Self::fresh(true)
    }

    /// Starts one that leaves writing to the disk to the kernel, so that tests do not wait for it.
    #[track_caller]
    pub fn without_flushes() -> Self {
        Self::fresh(false)
    }

    #[track_caller]
    fn fresh(flushes: bool) -> Self {
        // The server's user must be able to reach the directory, and the name of its socket must be short.
        let directory = tempfile::Builder::new()
            .prefix("burst-postgres-")
            .tempdir_in("/tmp")
            .unwrap();
        own(directory.path());
        let mut server = Self {
            programs: programs(),
            password: format!("pass{}word", std::process::id()),
            port: port::free(HOST),
            flushes,
            postmaster: None,
            directory,
        };
        server.initialise();
        server.start_again();
        server
    }

    /// `postgresql://host:port/database`.
    pub fn url(&self) -> String {
        format!("postgresql://{}:{}/{USER}", HOST, self.port)
    }

    /// The superuser's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Kills its first process as `kill -9` does; the others end when they notice.
    pub fn kill(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            postmaster.kill().unwrap();
            postmaster.wait().unwrap();
        }
    }

    /// Starts it on its existing data and waits until it answers.
    #[track_caller]
    pub fn start_again(&mut self) {
        let data = self.data();
        // It refuses to start while processes of its previous run hold the shared memory.
        wait::until("PostgreSQL listens", LIMIT, || {
            if let Some(postmaster) = &mut self.postmaster
                && postmaster.try_wait().unwrap().is_none()
            {
                return TcpStream::connect((HOST, self.port)).ok();
            }
            let _ = fs::remove_file(data.join("postmaster.pid"));
            let mut server = self.program("postgres");
            server.arg("-D").arg(&data);
            if !self.flushes {
                server.args(NO_FLUSHES);
            }
            server.args(["-h", HOST, "-p", &self.port.to_string(), "-k"]);
            server.arg(self.directory.path());
            self.postmaster = Some(command::spawn(server).unwrap());
            None
        });
        let question = "select 1";
        wait::until("PostgreSQL answers", LIMIT, || self.ask(question));
    }

    /// Returns the result of a query as text; none if the server does not answer.
    pub fn ask(&self, query: &str) -> Option<String> {
        let port = self.port.to_string();
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args([
            "-At", "-h", HOST, "-p", &port, "-U", USER, "-c", query, USER,
        ])
        .env("PGPASSWORD", &self.password);
        let finished = command::run(&mut psql, LIMIT);
        (finished.code == Some(0)).then(|| finished.stdout.trim().to_owned())
    }

    fn initialise(&self) {
        let password = self.directory.path().join("password");
        fs::write(&password, &self.password).unwrap();
        own(&password);
        let mut initdb = self.program("initdb");
        initdb
            .args([
                "-U",
                USER,
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            ])
            .arg("-D")
            .arg(self.data())
            .arg(format!("--pwfile={}", password.display()));
        let mut child = command::spawn(initdb).unwrap();
        let status = command::wait(&mut child, LIMIT).expect("initdb ends");
        assert!(status.success(), "initdb: {}", self.log());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A command for one of its programs, run as the server's user, with all output going to its log.
    fn program(&self, name: &str) -> Command {
        let log = self.directory.path().join("log");
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let program = self.programs.join(name);
        let mut command = if rustix::process::getuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "--pdeathsig=KILL",
            ]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stderr(log.try_clone().unwrap())
            .stdout(log);
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(postmaster) = &mut self.postmaster else {
            return;
        };
        if let Ok(None) = postmaster.try_wait() {
            let _ = kill_process(Pid::from_child(postmaster), Signal::QUIT);
        }
        if command::wait(postmaster, LIMIT).is_none() {
            self.kill();
        }
    }
}

/// Makes the server's user the owner of a path: PostgreSQL refuses to run as root, and its package creates a user.
fn own(path: &Path) {
    if rustix::process::getuid().is_root() {
        let mut chown = Command::new("chown");
        let finished = command::run(chown.arg("postgres").arg(path), LIMIT);
        assert_eq!(finished.code, Some(0), "{finished:#?}");
    }
}

fn programs() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    installed
        .map(|version| version.path().join("bin"))
        .filter(|programs| programs.join("postgres").is_file())
        .max()
        .expect(
            "PostgreSQL is not installed: on Debian, apt-get install postgresql; `tests/prepare.sh` does",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_data_survives_a_kill() {
        let mut server = Postgres::start();
        server
            .ask("create table t (i int); insert into t values (7)")
            .unwrap();
        server.kill();
        assert_eq!(server.ask("select i from t"), None);
        server.start_again();
        assert_eq!(server.ask("select i from t").as_deref(), Some("7"));
    }
}

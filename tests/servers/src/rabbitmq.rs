//! A RabbitMQ node of the tests' own: its ports, its data, its port mapper, and nothing of the
//! system's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::{Signal, port, stopping, wait};

/// Who may do anything.
pub const USER: &str = "burst";
/// Not the one everybody has, so that logging in is tested too.
pub const PASSWORD: &str = "rabbitmq-password-of-tests";

/// Ends when dropped, and when the process that started it ends, however it does; so does its port
/// mapper, which stays as long as it thinks that the node lives.
#[derive(Debug)]
pub struct RabbitMq {
    host: String,
    server: Child,
    guard: Child,
    ports: Ports,
    directory: TempDir,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    amqp: u16,
    distribution: u16,
    mapper: u16,
    management: u16,
}

impl RabbitMq {
    /// One node serves all tests that do not harm it: it takes seconds to start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<RabbitMq> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(""))
    }

    /// Another one, with the management API, which makes a user of its own for each flare.
    pub fn managed() -> &'static Self {
        static SERVER: OnceLock<RabbitMq> = OnceLock::new();
        SERVER.get_or_init(|| Self::managed_at("127.0.0.1"))
    }

    /// A node with these further lines in its configuration.
    pub fn start(settings: &str) -> Self {
        Self::start_with("127.0.0.1", "", settings)
    }

    /// A node with the management API, at one of this machine's addresses.
    pub fn managed_at(host: &str) -> Self {
        Self::start_with(host, "rabbitmq_management", "")
    }

    fn start_with(host: &str, plugin: &str, settings: &str) -> Self {
        for _ in 0..5 {
            if let Some(server) = Self::try_start(host, plugin, settings) {
                return server;
            }
        }
        panic!("rabbitmq-server did not start");
    }

    /// `None` when someone else took a port in the meantime.
    fn try_start(host: &str, plugin: &str, settings: &str) -> Option<Self> {
        let ports = Ports {
            amqp: port::free(host),
            distribution: port::free("0.0.0.0"),
            mapper: port::free("127.0.0.1"),
            management: port::free(host),
        };
        let management = match plugin {
            "" => String::new(),
            _ => format!(
                "management.tcp.ip = {host}\nmanagement.tcp.port = {}",
                ports.management
            ),
        };
        let directory = tempfile::tempdir().unwrap();
        let configuration = format!(
            "listeners.tcp.default = {host}:{}\n\
             default_user = {USER}\n\
             default_pass = {PASSWORD}\n\
             loopback_users = none\n\
             log.console = true\n\
             log.console.level = info\n\
             {management}\n\
             {settings}\n",
            ports.amqp
        );
        fs::write(directory.path().join("rabbitmq.conf"), configuration).unwrap();
        fs::write(
            directory.path().join("enabled_plugins"),
            format!("[{plugin}]."),
        )
        .unwrap();
        let mut server = command("rabbitmq-server", directory.path(), ports)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect(
                "rabbitmq-server is missing; install it, on Debian with: \
                 apt-get install rabbitmq-server",
            );
        // Ends the node when this process is gone and with it the other end of its input.
        let mut guard = Command::new("sh")
            .args([
                "-c",
                "read _; kill -9 -$1; rm -rf \"$3\"; while epmd -port $2 -names; do epmd -port $2 -kill; sleep 0.2; done",
            ])
            .args(["guard", &server.id().to_string(), &ports.mapper.to_string()])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut log = BufReader::new(server.stdout.take().unwrap());
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 {
            if line.contains("Server startup complete") {
                // Nobody reads on, but it must not be killed by what it writes.
                std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
                return Some(Self {
                    host: host.to_owned(),
                    server,
                    guard,
                    ports,
                    directory,
                });
            }
            line.clear();
        }
        let _ = server.wait();
        drop(guard.stdin.take());
        let _ = guard.wait();
        None
    }

    /// The address, with who may do anything.
    pub fn uri(&self) -> String {
        self.uri_at(self.ports.amqp)
    }

    /// The address with that of the management API.
    pub fn managed_uri(&self) -> String {
        self.managed_uri_at(self.ports.amqp)
    }

    /// As seen through another port.
    pub fn managed_uri_at(&self, port: u16) -> String {
        format!(
            "{}?management=http://{}",
            self.uri_at(port),
            self.management()
        )
    }

    /// The address of the server as seen through another port.
    pub fn uri_at(&self, port: u16) -> String {
        format!("amqp://{USER}:{PASSWORD}@{}:{port}/%2f", self.host)
    }

    /// Where its management API listens.
    pub fn management(&self) -> String {
        format!("{}:{}", self.host, self.ports.management)
    }

    /// Which of this machine's addresses it is at.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Where packs and programs connect to.
    pub fn port(&self) -> u16 {
        self.ports.amqp
    }

    /// Sends a signal to all processes of the node.
    pub fn signal(&self, signal: Signal) {
        stopping::signal_group(&self.server, signal);
    }

    /// What the server's own tool says, by line.
    pub fn ask(&self, arguments: &[&str]) -> Vec<String> {
        let ask = || {
            command("rabbitmqctl", self.directory.path(), self.ports)
                .args(["--quiet", "--no-table-headers"])
                .args(arguments)
                .output()
                .unwrap()
        };
        // It gives up within seconds where the server has no turn.
        let output = wait::until_seen("rabbitmqctl", wait::SOON, ask, |o| o.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.server.wait();
        let _ = self.guard.wait();
    }
}

/// One of RabbitMQ's programs, for the node of these ports and this directory. The ones in the
/// path may insist on the system's user, so Debian's others are preferred.
fn command(program: &str, directory: &Path, ports: Ports) -> Command {
    let inner = Path::new("/usr/lib/rabbitmq/bin").join(program);
    let mut command = match inner.exists() {
        true => Command::new(inner),
        false => Command::new(program),
    };
    let at = |name: &str| directory.join(name);
    command
        .env("HOME", directory)
        .env(
            "RABBITMQ_NODENAME",
            format!("burst{}@localhost", ports.amqp),
        )
        .env("RABBITMQ_DIST_PORT", ports.distribution.to_string())
        .env("ERL_EPMD_PORT", ports.mapper.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_MNESIA_BASE", at("data"))
        .env("RABBITMQ_LOG_BASE", at("log"))
        .env("RABBITMQ_LOGS", "-")
        .env("RABBITMQ_CONFIG_FILE", at("rabbitmq"))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", at("enabled_plugins"))
        // It shares the machine with what it is tested by.
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1");
    command
}

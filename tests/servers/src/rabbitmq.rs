//! A RabbitMQ node for tests, with its own ports, data and port mapper; it uses nothing of the
//! system's installation but the programs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::{Signal, port, stopping, wait};

/// The user with full access.
pub const USER: &str = "burst";
/// Not the default password, so that logging in is tested too.
pub const PASSWORD: &str = "rabbitmq-password-of-tests";

/// A node. It ends when dropped, or when the process that started it ends, however it ends; so does
/// its port mapper, which stays while it believes that the node is alive.
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
    /// Returns the node shared by all tests that do not harm it: starting one takes seconds.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<RabbitMq> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(""))
    }

    /// Returns a second shared node, with the management API, through which each flare gets a user
    /// of its own.
    pub fn managed() -> &'static Self {
        static SERVER: OnceLock<RabbitMq> = OnceLock::new();
        SERVER.get_or_init(|| Self::managed_at("127.0.0.1"))
    }

    /// Starts a node with these additional lines in its configuration.
    pub fn start(settings: &str) -> Self {
        Self::start_with("127.0.0.1", "", settings)
    }

    /// Starts a node with the management API, at one of this machine's addresses.
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

    /// Returns `None` if somebody else has taken a port in the meantime.
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
        // Kills the node when this process has ended and thereby closed the other end of the
        // guard's input.
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
                // Nobody reads the rest, but the node must not be killed by writing it.
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

    /// The address, with the credentials of the user with full access.
    pub fn uri(&self) -> String {
        self.uri_at(self.ports.amqp)
    }

    /// The address, including that of the management API.
    pub fn managed_uri(&self) -> String {
        self.managed_uri_at(self.ports.amqp)
    }

    /// The same, through another port.
    pub fn managed_uri_at(&self, port: u16) -> String {
        format!(
            "{}?management=http://{}",
            self.uri_at(port),
            self.management()
        )
    }

    /// The address of the server through another port.
    pub fn uri_at(&self, port: u16) -> String {
        format!("amqp://{USER}:{PASSWORD}@{}:{port}/%2f", self.host)
    }

    /// The address at which its management API listens.
    pub fn management(&self) -> String {
        format!("{}:{}", self.host, self.ports.management)
    }

    /// The address of this machine that it listens on.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port that packs and programs connect to.
    pub fn port(&self) -> u16 {
        self.ports.amqp
    }

    /// Sends a signal to all processes of the node.
    pub fn signal(&self, signal: Signal) {
        stopping::signal_group(&self.server, signal);
    }

    /// Returns the output of the server's own tool, by line.
    pub fn ask(&self, arguments: &[&str]) -> Vec<String> {
        let ask = || {
            command("rabbitmqctl", self.directory.path(), self.ports)
                .args(["--quiet", "--no-table-headers"])
                .args(arguments)
                .output()
                .unwrap()
        };
        // The tool gives up within seconds if the server gets no processor time.
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

/// A command for one of RabbitMQ's programs, for the node with these ports and this directory. The
/// programs in the path may insist on the system's user, so Debian's inner ones are preferred.
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
        // One scheduler thread: the node shares the machine with the tests.
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1");
    command
}

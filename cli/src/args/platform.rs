//! Arguments of `burst standalone`, `burst controller` and `burst invoker`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::quantity::{duration, mebibytes, number, positive};

/// Arguments of `burst standalone`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst standalone
  burst standalone --slots 16 --data ~/burst-data
  burst standalone --tls
  burst standalone --mount /data:/data:ro
  burst standalone --driver docker --image burst-runtime:latest
  burst standalone --backend redis-list=redis://:PASSWORD@localhost
  burst standalone --set burst.limits.burst-size=4096

The settings are written to standalone.conf in the data directory, readable by
you alone. Java is taken from JAVA_HOME, else from the PATH.")]
pub struct StandaloneArgs {
    /// Where the API listens.
    #[command(flatten)]
    pub api: ApiArgs,
    /// Serve https with a self-signed certificate that the platform creates
    #[arg(long)]
    pub tls: bool,
    /// What the machine offers.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The backends for messages between packs.
    #[command(flatten)]
    pub backends: BackendArgs,
    /// Flags of every process.
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// Arguments of `burst controller`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst controller --node 10.0.0.1:2552 --host 0.0.0.0 --config controller.conf
  burst controller --node 10.0.0.2:2552 --seed 10.0.0.1:2552 \\
      --seed 10.0.0.2:2552 --cluster-key cluster.pem --config controller.conf

Several controllers share a database: PostgreSQL, set in the file --config
names. The seeds are the controllers to look for: name all of them. A controller
that finds none founds the cluster.

The nodes of a cluster authenticate each other with a shared key: the first
controller (the first seed) creates it in its data directory, as cluster.pem,
and every other node gets a copy with --cluster-key.

The settings are written to controller.conf in the data directory, readable by
you alone.")]
pub struct ControllerArgs {
    /// Address of this controller for the other nodes [default: 127.0.0.1:2552]
    #[arg(long, value_name = "HOST:PORT", value_parser = node)]
    pub node: Option<(String, u16)>,
    /// How nodes find and trust each other.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Where the API listens.
    #[command(flatten)]
    pub api: ApiArgs,
    /// The backends for messages between packs.
    #[command(flatten)]
    pub backends: BackendArgs,
    /// Flags of every process.
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// Arguments of `burst invoker`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst invoker --node 10.0.0.13 --seed 10.0.0.1:2552 --seed 10.0.0.2:2552 \\
      --cluster-key cluster.pem --driver docker

Invokers need a copy of the cluster's key, cluster.pem in the data directory of
the first controller.

Packs of one flare on several machines connect to each other: packs that are
processes at the address of --node, containers at their own, so docker needs a
network that spans the machines (--set burst.invoker.docker.network=NAME).

The settings are written to invoker.conf in the data directory, readable by you
alone.")]
pub struct InvokerArgs {
    /// Name of this invoker in the cluster [default: the machine's name and part of the data directory's id]
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    pub id: Option<String>,
    /// Address of this invoker for the other nodes; without a port it takes a free one [default: 127.0.0.1]
    #[arg(long, value_name = "HOST[:PORT]", value_parser = node)]
    pub node: Option<(String, u16)>,
    /// How nodes find and trust each other.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// What the machine offers.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Flags of every process.
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// Where the API listens.
#[derive(Debug, Args)]
pub struct ApiArgs {
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long)]
    pub host: Option<String>,
    /// Port to listen on; 0 takes a free one [default: 3233]
    #[arg(long, value_parser = number::<u16>)]
    pub port: Option<u16>,
}

/// What a machine offers.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Number of workers that can run at once [default: the number of CPUs of this machine]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub slots: Option<u32>,
    /// How packs are run [default: auto]
    #[arg(long, value_enum)]
    pub driver: Option<Driver>,
    /// Image of docker and kubernetes packs
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
    /// Directory of this machine to mount in packs [default: none]; may be repeated
    #[arg(long, value_name = "HOST:PACK[:ro]", value_parser = mount)]
    pub mount: Vec<String>,
    /// How long an unused pack stays warm, such as 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub idle_timeout: Option<Duration>,
    /// Memory all packs together may use, such as 64G; a bare number is MiB
    #[arg(long, value_name = "SIZE", value_parser = mebibytes)]
    pub memory_limit: Option<u32>,
}

/// The backends for messages between packs.
#[derive(Debug, Args)]
pub struct BackendArgs {
    /// A backend for messages between packs; may be repeated
    #[arg(long, value_name = "NAME=URI", value_parser = pair)]
    pub backend: Vec<(String, String)>,
    /// The backend of flares that name none
    #[arg(long, value_name = "NAME")]
    pub default_backend: Option<String>,
}

/// How nodes find and trust each other.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// A controller to look for; may be repeated
    #[arg(long, value_name = "HOST:PORT", value_parser = node)]
    pub seed: Vec<(String, u16)>,
    /// The key that the nodes of the cluster share: a copy of the first controller's cluster.pem
    #[arg(long, value_name = "FILE", conflicts_with = "tls_key")]
    pub cluster_key: Option<PathBuf>,
    /// PEM file with this node's private key, if an authority certifies the nodes instead of a shared key
    #[arg(long, value_name = "FILE", requires_all = ["tls_certificate", "tls_authority"])]
    pub tls_key: Option<PathBuf>,
    /// PEM file with this node's certificate
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate of the authority that signed all nodes' certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_authority: Option<PathBuf>,
}

/// Flags of every process of the platform.
#[derive(Debug, Args)]
pub struct ProcessArgs {
    /// Directory for all data [default: ~/.burst, or ~/.burst-controller, ~/.burst-invoker]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// How long to wait for the data directory while another process holds it
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s")]
    pub data_wait: Duration,
    /// Settings file in HOCON; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any other setting of the platform; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
}

/// How packs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// A sandbox if this user can create one here, else a process; the start-up message says why
    Auto,
    /// A supervised child process, without isolation
    Process,
    /// Processes isolated by the kernel's namespaces, without a daemon
    Sandbox,
    /// A docker container
    Docker,
    /// A pod of the Kubernetes cluster that kubectl is configured for, or that this runs in
    Kubernetes,
}

impl Driver {
    /// The driver's name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Process => "process",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Whether its packs run in an image that the user can choose.
    pub fn has_image(self) -> bool {
        matches!(self, Self::Docker | Self::Kubernetes)
    }

    /// The driver to configure with mounts when this one is requested: `auto` mounts directories only in a sandbox.
    /// `None` if this driver's packs cannot see directories of this machine.
    pub fn mounts(self) -> Option<Self> {
        match self {
            Self::Auto | Self::Sandbox => Some(Self::Sandbox),
            Self::Docker => Some(Self::Docker),
            Self::Process | Self::Kubernetes => None,
        }
    }
}

/// Why the value of a node's argument is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NodeArgError {
    #[error("expected a name, an equals sign and a value")]
    NotAPair,
    #[error("the port is not a number")]
    Port,
    #[error("expected a host and a port, as in 10.0.0.1:2552")]
    NotANode,
    #[error("expected up to 64 letters, digits, dashes, dots or underscores")]
    NotAnIdentifier,
    #[error("expected two absolute paths without '..', as in /data:/data or /data:/data:ro")]
    NotAMount,
}

fn pair(text: &str) -> Result<(String, String), NodeArgError> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(NodeArgError::NotAPair),
    }
}

/// Parses a host with its port, which is 0 if missing.
fn node(text: &str) -> Result<(String, u16), NodeArgError> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => {
            (host, port.parse().map_err(|_| NodeArgError::Port)?)
        }
        _ => (text, 0),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if host.is_empty() || !host.chars().all(plain) {
        return Err(NodeArgError::NotANode);
    }
    Ok((host.to_owned(), port))
}

fn identifier(text: &str) -> Result<String, NodeArgError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
        return Err(NodeArgError::NotAnIdentifier);
    }
    Ok(text.to_owned())
}

fn mount(text: &str) -> Result<String, NodeArgError> {
    let parts: Vec<&str> = text.split(':').collect();
    let absolute = |path: &str| {
        path.starts_with('/') && !path.split('/').any(|name| [".", ".."].contains(&name))
    };
    match parts[..] {
        [host, container] | [host, container, "ro" | "rw"]
            if absolute(host) && absolute(container) =>
        {
            Ok(text.to_owned())
        }
        _ => Err(NodeArgError::NotAMount),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_two_absolute_paths() {
        assert!(mount("/a:/b").is_ok());
        assert!(mount("/a:/b:ro").is_ok());
        assert!(mount("/a").is_err());
        assert!(mount("a:/b").is_err());
        assert!(mount("/a:/b:maybe").is_err());
        assert!(mount("/a/../c:/b").is_err());
    }

    #[test]
    fn a_node_address_may_omit_the_port() {
        assert_eq!(node("a.b:25"), Ok(("a.b".into(), 25)));
        assert_eq!(node("10.0.0.1"), Ok(("10.0.0.1".into(), 0)));
        assert_eq!(node("[::1]:7"), Ok(("[::1]".into(), 7)));
        assert_eq!(node("[::1]"), Ok(("[::1]".into(), 0)));
        assert!(node(":7").is_err());
        assert!(node("a:b").is_err());
        assert!(node("a/b:1").is_err());
    }

    #[test]
    fn a_pair_splits_at_the_first_equals_sign() {
        assert_eq!(pair("k=v=w"), Ok(("k".into(), "v=w".into())));
        assert!(pair("k").is_err());
        assert!(pair("=v").is_err());
    }
}

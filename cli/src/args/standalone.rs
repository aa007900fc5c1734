//! Arguments of `burst standalone`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Arguments of `burst standalone`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  burst standalone
  burst standalone --slots 16 --data /var/lib/burst
  burst standalone --driver docker --image burst-runtime:latest --mount /data:/data:ro
  burst standalone --backend redis-list=redis://localhost:6379 --default-backend redis-list
  burst standalone --set burst.limits.burst-size=4096

The settings are written to standalone.conf in the data directory, readable by you alone.
Java is taken from JAVA_HOME, else from the PATH.")]
pub struct StandaloneArgs {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 3233)]
    pub port: u16,
    /// Where definitions, flares and packages are kept [default: ~/.burst]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// How many workers run at once [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
    /// What a pack is: a child process without isolation, or a container
    #[arg(long, value_enum, default_value_t = Driver::Process)]
    pub driver: Driver,
    /// Image of docker packs
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
    /// Directory of this machine that docker packs see; may be repeated
    #[arg(long, value_name = "HOST:CONTAINER[:ro]", value_parser = mount)]
    pub mount: Vec<String>,
    /// A backend that carries messages between packs; may be repeated
    #[arg(long, value_name = "NAME=URI", value_parser = pair)]
    pub backend: Vec<(String, String)>,
    /// The backend of flares that name none
    #[arg(long, value_name = "NAME")]
    pub default_backend: Option<String>,
    /// How long an unused pack stays warm, such as 60s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub idle_timeout: Option<Duration>,
    /// Memory all packs together may use, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    pub memory_limit: Option<u64>,
    /// Any other setting of the platform; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
}

/// What a pack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// A supervised child process
    Process,
    /// A docker container
    Docker,
}

impl Driver {
    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Docker => "docker",
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("expected a name, an equals sign and a value".into()),
    }
}

fn mount(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let absolute = |path: &str| path.starts_with('/');
    match parts[..] {
        [host, container] | [host, container, "ro" | "rw"]
            if absolute(host) && absolute(container) =>
        {
            Ok(text.to_owned())
        }
        _ => Err("expected two absolute paths, as in /data:/data or /data:/data:ro".into()),
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
    }

    #[test]
    fn a_pair_splits_at_the_first_equals_sign() {
        assert_eq!(pair("k=v=w"), Ok(("k".into(), "v=w".into())));
        assert!(pair("k").is_err());
        assert!(pair("=v").is_err());
    }
}

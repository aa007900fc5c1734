//! Servers that a pack may reach, and their addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

/// The most servers that are open at a time, and the most addresses of all of them.
const SERVERS: usize = 64;
const ADDRESSES: usize = 256;

/// How long resolving one may take.
const FOUND: Duration = Duration::from_secs(10);

/// Bytes of a name, by DNS.
const NAME: usize = 253;

/// Why servers cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("a pack may be let through to {SERVERS} servers")]
    TooMany,
    #[error("they have more than {ADDRESSES} addresses")]
    TooManyAddresses,
    #[error("'{0}' is not HOST:PORT")]
    Invalid(String),
    #[error("'{host}' is not found within {} s", FOUND.as_secs())]
    Late { host: String },
    #[error("'{host}' is not found: {reason}")]
    NotFound { host: String, reason: io::Error },
    #[error("'{0}' has no address that a server can have")]
    NoAddress(String),
    #[error(transparent)]
    Lost(#[from] JoinError),
}

/// The addresses and names of servers.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// For each address and port at which programs look for a server, all that it has, beginning
    /// with that one.
    pub(crate) servers: BTreeMap<SocketAddr, Arc<[SocketAddr]>>,
    pub(crate) names: Vec<(String, IpAddr)>,
}

/// Resolves all of them in parallel, each given as `HOST:PORT`, or fails.
pub(crate) async fn find(targets: &[String]) -> Result<Found, TargetError> {
    if targets.len() > SERVERS {
        return Err(TargetError::TooMany);
    }
    let mut looked_for = JoinSet::new();
    for target in targets {
        let target: Target = target.parse()?;
        looked_for.spawn(async move { target.find().await.map(|addresses| (target, addresses)) });
    }
    let mut found = Found::default();
    while let Some(looked) = looked_for.join_next().await {
        let (target, mut addresses) = looked??;
        for _ in 0..addresses.len() {
            let named = target
                .name()
                .map(|name| (name.to_owned(), addresses[0].ip()));
            found
                .names
                .extend(named.filter(|named| !found.names.contains(named)));
            let server = found.servers.entry(addresses[0]);
            server.or_insert_with(|| addresses.as_slice().into());
            addresses.rotate_left(1);
        }
    }
    match found.servers.len() > ADDRESSES {
        true => Err(TargetError::TooManyAddresses),
        false => Ok(found),
    }
}

/// A server as it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    host: String,
    port: u16,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || TargetError::Invalid(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(wrong)?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        // It is written to a line of a file.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let named = (1..=NAME).contains(&host.len()) && host.bytes().all(plain);
        match named || host.parse::<IpAddr>().is_ok() {
            true => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            false => Err(wrong()),
        }
    }
}

impl Target {
    /// The name to give it in the pack; none if it was requested by address.
    pub(crate) fn name(&self) -> Option<&str> {
        let known = self.host == "localhost" || self.host.parse::<IpAddr>().is_ok();
        (!known).then_some(self.host.as_str())
    }

    /// Resolves it on this machine: to one address at least, each only once.
    pub(crate) async fn find(&self) -> Result<Vec<SocketAddr>, TargetError> {
        let host = || self.host.clone();
        let found = timeout(FOUND, lookup_host((self.host.as_str(), self.port))).await;
        let found = found
            .map_err(|_| TargetError::Late { host: host() })?
            .map_err(|reason| TargetError::NotFound {
                host: host(),
                reason,
            })?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            let address = SocketAddr::new(address.ip().to_canonical(), address.port());
            if may_be_a_servers(address) && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        match addresses.is_empty() {
            true => Err(TargetError::NoAddress(host())),
            false => Ok(addresses),
        }
    }
}

/// Whether the loopback can have the address as well, and the address says by itself where it is.
fn may_be_a_servers(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => !(ip.is_unspecified() || ip.is_multicast() || ip == Ipv4Addr::BROADCAST),
        IpAddr::V6(ip) => !(ip.is_unspecified() || ip.is_multicast() || ip.is_unicast_link_local()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn invalid_servers_are_refused() {
        for text in [
            "",
            "redis",
            "redis:",
            ":6379",
            "redis:0",
            "redis:65536",
            "two words:1",
            "a\n127.0.0.1 b:1",
            "[::1:6379",
            &format!("{}:1", "a".repeat(254)),
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_targets_that_need_a_name_have_one() {
        for (text, name) in [
            ("redis.example:6379", Some("redis.example")),
            ("localhost:6379", None),
            ("192.0.2.1:1", None),
            ("[2001:db8::1]:1", None),
        ] {
            assert_eq!(text.parse::<Target>().unwrap().name(), name, "{text}");
        }
    }

    #[tokio::test]
    async fn each_address_has_the_others_as_alternatives() {
        let targets = ["192.0.2.1:9", "192.0.2.1:9", "127.0.0.1:9"].map(str::to_owned);
        let found = find(&targets).await.unwrap();
        assert_eq!(found.servers.len(), 2);
        assert!(
            found
                .servers
                .iter()
                .all(|(address, all)| **all == [*address])
        );
        assert_eq!(found.names, []);
        let many = vec!["192.0.2.1:9".to_owned(); SERVERS + 1];
        let many = find(&many).await.unwrap_err().to_string();
        assert!(many.contains("64 servers"), "{many}");
        let one_is_none = ["192.0.2.1:9", "nobody.invalid:9"].map(str::to_owned);
        find(&one_is_none).await.unwrap_err();
    }

    #[tokio::test]
    async fn only_addresses_that_a_server_can_have_are_found() {
        let find = async |text: &str| text.parse::<Target>().unwrap().find().await;
        assert_eq!(
            find("[::ffff:192.0.2.1]:9").await.unwrap(),
            ["192.0.2.1:9".parse().unwrap()]
        );
        assert!(!find("localhost:9").await.unwrap().is_empty());
        for nowhere in [
            "0.0.0.0:9",
            "[::]:9",
            "224.0.0.1:9",
            "255.255.255.255:9",
            "[fe80::1]:9",
        ] {
            find(nowhere).await.unwrap_err();
        }
        let unknown = find("nobody.invalid:9").await.unwrap_err().to_string();
        assert!(
            unknown.contains("'nobody.invalid' is not found"),
            "{unknown}"
        );
    }
}

//! Diverts packets from one address to any other to sockets on the sender's side. In the notation of `nft`, for each
//! [`Diversion`]:
//!
//! ```text
//! table inet NAME {
//!     chain prerouting {
//!         type filter hook prerouting priority -150
//!         ip saddr SOURCE ip daddr != SOURCE meta l4proto PROTOCOL tproxy to :PORT
//!     }
//! }
//! ```
//!
//! This concerns the network namespace of the calling thread: packets that return by its loopback, as do all whose
//! route is local. Packets that no socket accepts go where that route leads.

use std::net::IpAddr;

use crate::Error;
use crate::expression::Rule;
use crate::kernel::{INET, IPV4, IPV6};
use crate::members::Protocol;
use crate::netlink::Netlink;
use crate::script::{Chain, Hook, Script};

/// A transparent socket, and the packets that it accepts.
#[derive(Debug, Clone, Copy)]
pub struct Diversion {
    /// The source address of the packets.
    pub source: IpAddr,
    /// The protocol of the packets.
    pub protocol: Protocol,
    /// The port to which the socket is bound.
    pub port: u16,
}

const CHAIN: Chain = Chain {
    family: INET,
    name: "prerouting",
    hook: Hook::Prerouting,
    priority: -150,
};

/// Replaces the diversions that the table had.
///
/// # Errors
/// When the kernel refuses, for example because it lacks `nft_tproxy`.
pub fn divert(table: &str, diversions: &[Diversion]) -> Result<(), Error> {
    let mut script = Script::new(table);
    script.replace_table(INET);
    script.add_chain(&CHAIN);
    for diversion in diversions {
        let family = match diversion.source {
            IpAddr::V4(_) => IPV4,
            IpAddr::V6(_) => IPV6,
        };
        let rule = Rule::away_from(diversion.source)
            .protocol(diversion.protocol)
            .tproxy(family, diversion.port);
        script.add_rule(&CHAIN, &rule);
    }
    run(script, "to divert packets (it needs nf_tables with tproxy)")
}

/// Removes the table, which must exist.
///
/// # Errors
/// When the kernel does not remove it.
pub fn end_diversion(table: &str) -> Result<(), Error> {
    let mut script = Script::new(table);
    script.delete_table(INET);
    run(script, "to divert packets no more")
}

fn run(script: Script<'_>, what: &'static str) -> Result<(), Error> {
    let done = Netlink::open().and_then(|kernel| kernel.run(script.finish()));
    done.map_err(|reason| Error::Kernel { what, reason })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::namespace;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::process::Command;

    fn ip(arguments: &str) {
        let status = Command::new("ip").args(arguments.split(' ')).status();
        assert!(status.unwrap().success(), "{arguments}");
    }

    /// A listener that accepts connections to other addresses.
    fn transparent(at: &str) -> TcpListener {
        let at: SocketAddr = at.parse().unwrap();
        let domain = socket2::Domain::for_address(at);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None).unwrap();
        socket.set_ip_transparent_v4(true).unwrap();
        socket.bind(&at.into()).unwrap();
        socket.listen(8).unwrap();
        socket.into()
    }

    #[test]
    fn traffic_to_any_address_is_accepted_here() {
        if !namespace::enter("divert::tests::traffic_to_any_address_is_accepted_here") {
            return;
        }
        ip("link set lo up");
        ip("address add 192.0.0.1/32 dev lo");
        ip("route add local default dev lo src 192.0.0.1");
        ip("address add fd00::1/128 dev lo nodad");
        ip("-6 route add local default dev lo src fd00::1");
        for (source, meant) in [
            ("192.0.0.1", "198.51.100.7:80"),
            ("fd00::1", "[2001:db8::7]:80"),
        ] {
            let source: IpAddr = source.parse().unwrap();
            let any = if source.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            };
            let listener = transparent(any);
            let diversion = Diversion {
                source,
                protocol: Protocol::Tcp,
                port: listener.local_addr().unwrap().port(),
            };
            assert!(TcpStream::connect(meant).is_err());
            divert("test", &[diversion]).unwrap();
            let mut stream = TcpStream::connect(meant).unwrap();
            let (mut taken, from) = listener.accept().unwrap();
            assert_eq!(taken.local_addr().unwrap().to_string(), meant);
            assert_eq!(from.ip(), source);
            stream.write_all(b"there").unwrap();
            taken.write_all(b"back").unwrap();
            let mut read = [0; 5];
            taken.read_exact(&mut read).unwrap();
            assert_eq!(&read, b"there");
            stream.read_exact(&mut read[..4]).unwrap();
            // Connections to the source address itself are not diverted.
            let own = TcpListener::bind((source, 0)).unwrap();
            TcpStream::connect(own.local_addr().unwrap()).unwrap();
            own.accept().unwrap();
            end_diversion("test").unwrap();
            assert!(TcpStream::connect(meant).is_err());
        }
        assert_eq!(namespace::tables(), []);
    }
}

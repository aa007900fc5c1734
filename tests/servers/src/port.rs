//! Ports for servers whose port must be known before they run.

use std::io::ErrorKind;
use std::mem;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The timeout of a connection attempt. A server that is too busy to answer in this time counts as listening.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns a port of this address on which nobody listens. It is below the system's ephemeral ports, so no other
/// connection or socket can be assigned it, neither before its server starts nor while that is down. No other process
/// gets it from this function while this one lives.
pub fn free(host: &str) -> u16 {
    const FIRST: u16 = 18_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let start = now.subsec_nanos() ^ std::process::id().rotate_left(16);
    (0..COUNT)
        .map(|_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            FIRST + ((start.wrapping_add(step)) % u32::from(COUNT)) as u16
        })
        .find(|port| claim(*port) && is_free(host, *port))
        .expect("a free port")
}

/// Claims a port by an abstract socket name, which only one process can hold and which the kernel releases when that
/// process ends.
fn claim(port: u16) -> bool {
    let name = SocketAddr::from_abstract_name(format!("burst-test-port-{port}")).unwrap();
    UnixListener::bind_addr(&name).map(mem::forget).is_ok()
}

/// Checks by connecting. Listening on the port would block its owner for a moment, or longer if a program that another
/// thread is just starting holds the inherited socket until it executes.
fn is_free(host: &str, port: u16) -> bool {
    let answer = (host, port)
        .to_socket_addrs()
        .unwrap()
        .try_for_each(|address| TcpStream::connect_timeout(&address, PATIENCE).map(drop));
    answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_free_port_is_claimed() {
        let port = free("127.0.0.1");
        assert!(!claim(port));
        let server = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert!(!is_free("127.0.0.1", port));
        drop(server);
    }
}

//! Ports of servers that must be known before they run.

use std::io::ErrorKind;
use std::mem;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server of this machine that is too busy to answer is there.
const PATIENCE: Duration = Duration::from_secs(1);

/// A port of this address on which nobody listens. It is from below those that the system gives to connections
/// and to who asks for any: none of them can have it before its server does, nor while that is down. No other process
/// gets it from here as long as this one is there.
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
        .find(|port| claim(*port) && nobody_listens(host, *port))
        .expect("a free port")
}

/// By a name that the system lets one process have, and takes from it at its end.
fn claim(port: u16) -> bool {
    let name = SocketAddr::from_abstract_name(format!("burst-test-port-{port}")).unwrap();
    UnixListener::bind_addr(&name).map(mem::forget).is_ok()
}

/// Who listened there to find out would be in the way of the port's owner for a moment, and longer where a program that
/// another thread is about to start has the socket until it begins.
fn nobody_listens(host: &str, port: u16) -> bool {
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
    fn nobody_else_gets_a_port() {
        let port = free("127.0.0.1");
        assert!(!claim(port));
        let server = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert!(!nobody_listens("127.0.0.1", port));
        drop(server);
    }
}

//! The underlying sockets: TCP, and between packs of one machine Unix sockets, which take about two
//! thirds of the time.
//!
//! A Unix socket has a name derived from the flare's secret and the pack's endpoint, so that nobody
//! else can guess it. It is an abstract name: there is no file to remove, and packs in different
//! network namespaces, such as containers, do not see each other's names; they use TCP. Packs in
//! sandboxes, which have no network, receive a Unix socket with a path that all of them see. To
//! packs of other machines, another process connects on their behalf ([`connect_relayed`]).

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};

use super::handshake::Credentials;
use crate::config::PackConfig;

/// The number of connections the kernel accepts before this program does.
const BACKLOG: i32 = 1024;

/// The prefix of an endpoint that is a Unix socket's path.
const UNIX: &str = "unix:";

/// The prefix of an endpoint to which another process connects: `relay:PATH:NUMBER`.
const RELAY: &str = "relay:";

/// Whether an endpoint is a Unix socket's path.
pub(super) fn is_unix(endpoint: &str) -> bool {
    endpoint.starts_with(UNIX)
}

/// Whether there can be a shorter way to an endpoint than the one it names.
pub(super) fn is_of_network(endpoint: &str) -> bool {
    !is_unix(endpoint) && !endpoint.starts_with(RELAY)
}

/// Listens where other packs reach this one; returns the endpoint as well.
pub(super) fn listen(config: &PackConfig) -> io::Result<(Socket, String)> {
    let advertise = config.advertise.as_str();
    if is_unix(advertise) {
        let listener = config.listener.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let socket = Socket::from(listener.try_clone()?);
        socket.set_nonblocking(true)?;
        return Ok((socket, advertise.to_owned()));
    }
    let (socket, port) = listen_on_port(advertise)?;
    let endpoint = match advertise.contains(':') {
        true => format!("[{advertise}]:{port}"),
        false => format!("{advertise}:{port}"),
    };
    Ok((socket, endpoint))
}

/// Listens on a free port of the advertised address if that is an address of this machine; if it is
/// not, as behind a name or an address translation, on all addresses.
fn listen_on_port(advertise: &str) -> io::Result<(Socket, u16)> {
    let bind = |address: SocketAddr| -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.bind(&address.into())?;
        Ok(socket)
    };
    let mut advertised = (advertise, 0).to_socket_addrs().into_iter().flatten();
    let socket = advertised
        .find_map(|address| bind(address).ok())
        .map_or_else(|| bind((Ipv4Addr::UNSPECIFIED, 0).into()), Ok)?;
    let port = match socket.local_addr()?.as_socket() {
        Some(address) => address.port(),
        None => return Err(io::ErrorKind::AddrNotAvailable.into()),
    };
    open(&socket)?;
    Ok((socket, port))
}

/// Listens for packs on this machine.
pub(super) fn listen_locally(credentials: &Credentials, endpoint: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&local_name(credentials, endpoint)?)?;
    open(&socket)?;
    Ok(socket)
}

fn open(socket: &Socket) -> io::Result<()> {
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)
}

/// Connects to a pack on this machine.
pub(super) fn connect_locally(
    credentials: &Credentials,
    endpoint: &str,
    timeout: Duration,
) -> io::Result<Socket> {
    connect_unix(&local_name(credentials, endpoint)?, timeout)
}

fn connect_unix(address: &SockAddr, timeout: Duration) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // This bounds connecting too, which blocks while the listener's backlog is full.
    socket.set_write_timeout(Some(timeout))?;
    socket.connect(address)?;
    Ok(socket)
}

/// Connects to the first address of an endpoint that answers.
pub(super) fn connect(endpoint: &str, timeout: Duration) -> io::Result<Socket> {
    if let Some(path) = endpoint.strip_prefix(UNIX) {
        return connect_unix(&SockAddr::unix(path)?, timeout);
    }
    if let Some(relayed) = endpoint.strip_prefix(RELAY) {
        return connect_relayed(relayed, timeout);
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in endpoint.to_socket_addrs()? {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        match socket.connect_timeout(&address.into(), timeout) {
            Ok(()) => return Ok(socket),
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

/// Connects to a peer that another process knows by a number. This end sends the number; the other
/// process answers with zero when it is connected, or with the number of the error, each in four
/// bytes.
fn connect_relayed(relayed: &str, timeout: Duration) -> io::Result<Socket> {
    let parts = relayed.rsplit_once(':');
    let parts = parts.and_then(|(path, number)| Some((path, number.parse::<u32>().ok()?)));
    let (path, number) = parts.ok_or(ErrorKind::InvalidInput)?;
    let socket = connect_unix(&SockAddr::unix(path)?, timeout)?;
    socket.set_read_timeout(Some(timeout))?;
    (&socket).write_all(&number.to_le_bytes())?;
    let mut answer = [0; 4];
    match (&socket).read_exact(&mut answer) {
        Err(late) if late.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
        read => read?,
    }
    match i32::from_le_bytes(answer) {
        0 => Ok(socket),
        reason => Err(io::Error::from_raw_os_error(reason)),
    }
}

fn local_name(credentials: &Credentials, endpoint: &str) -> io::Result<SockAddr> {
    let mut name = b"\0burst-".to_vec();
    for byte in credentials.local_name(endpoint) {
        name.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    SockAddr::unix(OsStr::from_bytes(&name))
}

/// Configures a socket: small messages leave immediately, reading blocks without a limit, and a
/// peer whose machine is gone is noticed eventually.
pub(super) fn prepare(socket: &Socket) -> io::Result<()> {
    socket.set_read_timeout(None)?;
    if socket.local_addr()?.is_unix() {
        return Ok(());
    }
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(2))
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    socket.set_tcp_keepalive(&keepalive)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::os::unix::net::UnixListener;
    use std::thread;
    use std::time::Instant;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);
    const PATIENCE: Duration = Duration::from_secs(300);

    #[test]
    fn a_local_name_can_be_found_only_with_the_secret() {
        let credentials = Credentials::new(&"secret".into(), [7; 16]);
        let listener = listen_locally(&credentials, "h:1").unwrap();
        listener.set_nonblocking(false).unwrap();
        let mut near = connect_locally(&credentials, "h:1", TIMEOUT).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        prepare(&far).unwrap();
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();

        let other = Credentials::new(&"guess".into(), [7; 16]);
        assert!(connect_locally(&other, "h:1", TIMEOUT).is_err());
        assert!(connect_locally(&credentials, "h:2", TIMEOUT).is_err());
        // The name disappears with its socket, of which a process that another test is just
        // starting may have a copy until it executes its own program.
        drop(listener);
        let begun = Instant::now();
        while connect_locally(&credentials, "h:1", TIMEOUT).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "somebody listens still");
            thread::sleep(Duration::from_millis(10));
        }
        listen_locally(&credentials, "h:1").unwrap();
    }

    #[test]
    fn a_relay_connects_or_reports_its_error() {
        let name = tempfile::TempDir::new().unwrap();
        let path = name.path().join("relay");
        let listener = UnixListener::bind(&path).unwrap();
        let relay = thread::spawn(move || {
            for answer in [0, rustix::io::Errno::CONNREFUSED.raw_os_error()] {
                let mut asked = [0; 4];
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut asked).unwrap();
                stream.write_all(&i32::to_le_bytes(answer)).unwrap();
                if answer == 0 {
                    stream.write_all(&asked).unwrap();
                }
            }
            // It does not answer this request.
            listener.accept().unwrap()
        });
        let endpoint = |number: &str| format!("relay:{}:{number}", path.display());
        let mut reached = connect(&endpoint("17"), TIMEOUT).unwrap();
        let mut said = [0; 4];
        reached.read_exact(&mut said).unwrap();
        assert_eq!(u32::from_le_bytes(said), 17);
        let refused = connect(&endpoint("18"), TIMEOUT).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let late = connect(&endpoint("1"), Duration::from_millis(10)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        drop(relay.join().unwrap());
        let wrong = connect(&endpoint("-1"), TIMEOUT).unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
        assert!(is_of_network("h:1") && !is_of_network("unix:/a"));
        assert!(!is_of_network(&endpoint("1")));
    }

    #[test]
    fn an_address_of_another_host_is_bound_on_all_interfaces() {
        let (_socket, port) = listen_on_port("192.0.2.1").unwrap();
        connect(&format!("127.0.0.1:{port}"), TIMEOUT).unwrap();
        let refused = connect("127.0.0.1:1", TIMEOUT).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}

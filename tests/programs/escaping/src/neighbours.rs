//! The addresses that a worker can reach: the packs of its own flare, and those it is given.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use burst::{BurstContext, Error};
use serde::Serialize;

/// Enough for a neighbour on a busy machine; a blocked connection may take this long to fail.
const PATIENCE: Duration = Duration::from_secs(4);
/// The limit for the other side to close the connection.
const ANSWER: Duration = Duration::from_secs(60);
/// The port on which runtimes accept requests.
const CONTROL: u16 = 8080;

/// The kind of error at each address; none if it connected.
type Errors = BTreeMap<SocketAddr, Option<String>>;

#[derive(Serialize)]
pub struct Reached {
    /// The ports of workers in other packs of this flare.
    peers: Errors,
    /// The ports of those packs' runtimes.
    runtimes: Errors,
    others: Errors,
}

/// Prints its address, and stays there.
pub fn stay<T>() -> Result<T, Error> {
    let (listener, address) = listen()?;
    println!("listening on {address}");
    loop {
        drop(listener.accept()?);
    }
}

pub fn visit(others: &[SocketAddr], burst: &BurstContext) -> Result<Reached, Error> {
    let (listener, address) = listen()?;
    thread::spawn(move || listener.incoming().for_each(drop));
    let all: Vec<String> = burst.all_gather(address.to_string())?.to_vec();
    let peers: Vec<SocketAddr> = (all.iter())
        .filter_map(|peer| peer.parse().ok())
        .filter(|peer: &SocketAddr| peer.ip() != address.ip())
        .collect();
    let runtimes: Vec<_> = (peers.iter())
        .map(|peer| SocketAddr::new(peer.ip(), CONTROL))
        .collect();
    // All of them at the same time, so that blocked connections time out together.
    let errors = knock(&[&peers[..], &runtimes[..], others].concat());
    let of = |addresses: &[SocketAddr]| -> Errors {
        let found = addresses.iter().filter_map(|at| errors.get_key_value(at));
        found.map(|(at, error)| (*at, error.clone())).collect()
    };
    let reached = Reached {
        peers: of(&peers),
        runtimes: of(&runtimes),
        others: of(others),
    };
    // No worker leaves while others may still connect.
    burst.barrier()?;
    Ok(reached)
}

/// Listens on a port of this pack.
fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    let port = listener.local_addr()?.port();
    Ok((listener, SocketAddr::new(own_address()?, port)))
}

/// The source address of connections to others; the loopback address if no route exists.
fn own_address() -> io::Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    match socket.connect("192.0.2.1:9") {
        Ok(()) => Ok(socket.local_addr()?.ip()),
        Err(error) if error.kind() == io::ErrorKind::NetworkUnreachable => {
            Ok(Ipv4Addr::LOCALHOST.into())
        }
        Err(error) => Err(error),
    }
}

fn knock(addresses: &[SocketAddr]) -> Errors {
    thread::scope(|scope| {
        let knocking: Vec<_> = (addresses.iter())
            .map(|at| (at, scope.spawn(|| meet(*at))))
            .collect();
        (knocking.into_iter())
            .map(|(at, outcome)| {
                let outcome = outcome
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("panic")));
                (
                    *at,
                    outcome.err().map(|error| format!("{:?}", error.kind())),
                )
            })
            .collect()
    })
}

/// Connects, and checks that the peer sees the end of the stream and closes, too: a relay that accepts on its behalf
/// may only then find out that it is not allowed to.
fn meet(at: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    // If nobody listens, the kernel may choose that very port as the source, and connect the socket with itself.
    if stream.local_addr()? == at {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_read_timeout(Some(ANSWER))?;
    stream.shutdown(Shutdown::Write)?;
    stream.read(&mut [0]).map(drop)
}

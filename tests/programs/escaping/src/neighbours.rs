//! Whom a worker reaches: the packs of its own flare, and whoever it is told of.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use burst::{BurstContext, Error};
use serde::Serialize;

/// Enough for a neighbour on a busy machine; who is kept from it may have to wait so long for nothing.
const PATIENCE: Duration = Duration::from_secs(4);
/// For who has been reached to hang up.
const ANSWER: Duration = Duration::from_secs(60);
/// Where runtimes take their orders.
const CONTROL: u16 = 8080;

/// The kind of error at each address; none if it was reached.
type Errors = BTreeMap<SocketAddr, Option<String>>;

#[derive(Serialize)]
pub struct Reached {
    /// Ports of workers in other packs of this flare.
    peers: Errors,
    /// Of the runtimes of those packs.
    runtimes: Errors,
    others: Errors,
}

/// Says where it is, and stays there.
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
    // At all of them at once: who is kept from them waits once.
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
    // Nobody leaves while others may knock.
    burst.barrier()?;
    Ok(reached)
}

/// On a port of this pack's.
fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    let port = listener.local_addr()?.port();
    Ok((listener, SocketAddr::new(own_address()?, port)))
}

/// That from which anything else would be spoken to; the pack's own alone where there is no way to anybody.
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

/// Somebody is there who hears that nothing more is to come, and ends, too: what accepts in his place may only then find
/// out that it must not.
fn meet(at: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    // Where nobody listens the kernel may ask from that very port, and connect one with oneself.
    if stream.local_addr()? == at {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_read_timeout(Some(ANSWER))?;
    stream.shutdown(Shutdown::Write)?;
    stream.read(&mut [0]).map(drop)
}

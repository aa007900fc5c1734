//! Relays a pack's datagrams in both directions. A flow is what one port of the pack and one address outside send each
//! other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use rustix::net::{SendFlags, send};
use socket2::{Domain, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::internet::allowed::Allowed;
use crate::internet::transparent::{bound, flow_socket};
use crate::network::Namespace;

/// Concurrent flows of a pack in each family. A further one replaces the one that has been silent for longest.
const FLOWS: usize = 128;
const FAMILIES: usize = 2;

/// How long a flow may be silent before it ends.
const SILENCE: Duration = Duration::from_secs(60);

/// Bytes of the largest datagram.
const LARGEST: usize = 64 << 10;

/// How long nothing is received after this process has run out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

thread_local! {
    /// The datagram being relayed: it is here only for that long.
    static DATAGRAM: RefCell<Vec<u8>> = RefCell::new(vec![0; LARGEST]);
}

/// The program's address, and the destination it has used.
type Ends = (SocketAddr, SocketAddr);

/// The flows of a pack.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    namespace: Arc<Namespace>,
    limit: Arc<Semaphore>,
}

/// A flow that has begun.
struct Flow {
    outer: Arc<UdpSocket>,
    activity: Arc<LastActivity>,
    task: AbortHandle,
}

/// When either side last sent something.
struct LastActivity(Mutex<Instant>);

impl LastActivity {
    fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn at(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Flows {
    pub(crate) fn of(namespace: Arc<Namespace>) -> Self {
        Self {
            namespace,
            limit: Arc::new(Semaphore::new(FAMILIES * FLOWS)),
        }
    }

    /// Waits until no flow is left.
    pub(crate) async fn all_gone(&self) {
        // The semaphore is never closed.
        let _all = self.limit.acquire_many((FAMILIES * FLOWS) as u32).await;
    }

    /// Relays the datagrams that a socket receives, for as long as this is polled.
    pub(crate) async fn pass_on(self, socket: UdpSocket, allowed: Arc<Allowed>) {
        let mut flows: HashMap<Ends, Flow> = HashMap::new();
        let mut running = JoinSet::new();
        loop {
            let arrived = tokio::select! {
                arrived = socket.async_io(Interest::READABLE, || receive(&socket)) => arrived,
                Some(ended) = running.join_next_with_id() => {
                    forget(&mut flows, ended);
                    continue;
                }
            };
            let Ok((ends, length)) = arrived else {
                sleep(PAUSE).await;
                continue;
            };
            let flow = flows.get(&ends).filter(|flow| !flow.task.is_finished());
            if let Some(flow) = flow {
                // It arrived before the flow's own socket existed.
                say(&flow.outer, length);
                continue;
            }
            while running.len() >= FLOWS {
                if let Some(silent) = flows.values().min_by_key(|flow| flow.activity.at()) {
                    silent.task.abort();
                }
                if let Some(ended) = running.join_next_with_id().await {
                    forget(&mut flows, ended);
                }
            }
            if let Some(flow) = self.begin(ends, &allowed, &mut running) {
                say(&flow.outer, length);
                flows.insert(ends, flow);
            }
        }
    }

    /// Starts a flow; `None` if its destination is not allowed, or a socket cannot be made.
    fn begin(&self, ends: Ends, allowed: &Allowed, running: &mut JoinSet<Ends>) -> Option<Flow> {
        let (program, meant) = ends;
        let target = allowed.target(meant)?;
        let permit = Arc::clone(&self.limit).try_acquire_owned().ok()?;
        let inner = self.namespace.within(|| flow_socket(meant, program)).ok()?;
        let inner = UdpSocket::from_std(inner).ok()?;
        let outer = Arc::new(dial(target).ok()?);
        let activity = Arc::new(LastActivity::now());
        let (theirs, latest) = (Arc::clone(&outer), Arc::clone(&activity));
        let task = running.spawn(async move {
            // Returned after the sockets are closed.
            let _permit = permit;
            forward(inner, theirs, &latest).await;
            ends
        });
        Some(Flow {
            outer,
            activity,
            task,
        })
    }
}

/// Removes an ended flow, but not a later one with the same ends.
fn forget(flows: &mut HashMap<Ends, Flow>, ended: Result<(Id, Ends), JoinError>) {
    let id = match &ended {
        Ok((id, _)) => *id,
        Err(error) => error.id(),
    };
    flows.retain(|_, flow| flow.task.id() != id);
}

/// Relays until both sides have been silent for too long, or one fails.
async fn forward(inner: UdpSocket, outer: Arc<UdpSocket>, activity: &LastActivity) {
    loop {
        let forwarded = tokio::select! {
            ready = inner.readable() => ready.and_then(|()| pass(&inner, &outer)),
            ready = outer.readable() => ready.and_then(|()| pass(&outer, &inner)),
            () = sleep_until(activity.at() + SILENCE) => return,
        };
        if forwarded.is_err() {
            return;
        }
        activity.renew();
    }
}

/// Relays one datagram, if one has arrived.
fn pass(from: &UdpSocket, to: &UdpSocket) -> io::Result<()> {
    let length = DATAGRAM.with_borrow_mut(|datagram| from.try_recv(datagram));
    match length {
        Ok(length) => say(to, length),
        Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => {}
        Err(reason) => return Err(reason),
    }
    Ok(())
}

/// Sends the datagram that has just arrived. It is lost if there is no room for it, as anywhere else on its way.
fn say(to: &UdpSocket, length: usize) {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    // Asks the kernel directly: tokio would not know yet whether a new socket has room.
    let _ = DATAGRAM.with_borrow(|datagram| send(to, &datagram[..length], flags));
}

/// Receives a datagram; returns its source and its original destination, and its length.
fn receive(socket: &UdpSocket) -> io::Result<(Ends, usize)> {
    let mut space = nix::cmsg_space!(libc::sockaddr_in, libc::sockaddr_in6);
    DATAGRAM.with_borrow_mut(|datagram| {
        let mut parts = [IoSliceMut::new(datagram)];
        let received = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::MSG_DONTWAIT,
        )?;
        let program = received.address.and_then(|address| {
            let v4 = address.as_sockaddr_in().map(|it| (*it).into());
            v4.or_else(|| address.as_sockaddr_in6().map(|it| (*it).into()))
        });
        let meant = received.cmsgs()?.find_map(|told| match told {
            ControlMessageOwned::Ipv4OrigDstAddr(address) => Some(v4(&address)),
            ControlMessageOwned::Ipv6OrigDstAddr(address) => Some(v6(&address)),
            _ => None,
        });
        let ends = program.zip(meant).ok_or(io::ErrorKind::InvalidData)?;
        Ok((ends, received.bytes))
    })
}

fn v4(address: &libc::sockaddr_in) -> SocketAddr {
    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
    (ip, u16::from_be(address.sin_port)).into()
}

fn v6(address: &libc::sockaddr_in6) -> SocketAddr {
    let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
    (ip, u16::from_be(address.sin6_port)).into()
}

fn dial(target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(target), Type::DGRAM, None)?;
    socket.set_nonblocking(true)?;
    bound(&socket)?;
    socket.connect(&target.into())?;
    UdpSocket::from_std(socket.into())
}

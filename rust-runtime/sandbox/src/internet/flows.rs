//! Datagrams of a pack's, passed on and back: a flow is what one of its ports and one address outside say to each
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
use crate::internet::transparent::{bound, stand_in};
use crate::network::Namespace;

/// Of a pack at a time, by each family. Another one takes the place of that which has been silent for longest.
const FLOWS: usize = 128;
const FAMILIES: usize = 2;

/// How long nobody may say anything.
const SILENCE: Duration = Duration::from_secs(60);

/// Bytes of the largest datagram.
const LARGEST: usize = 64 << 10;

/// How long nothing is taken in while this process has no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

thread_local! {
    /// On its way: it stays here for no longer than that takes.
    static DATAGRAM: RefCell<Vec<u8>> = RefCell::new(vec![0; LARGEST]);
}

/// The program's address, and that which it has meant.
type Ends = (SocketAddr, SocketAddr);

/// The flows of a pack.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    namespace: Arc<Namespace>,
    limit: Arc<Semaphore>,
}

/// One that has begun.
struct Flow {
    outer: Arc<UdpSocket>,
    activity: Arc<LastActivity>,
    task: AbortHandle,
}

/// When somebody has last said something.
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

    /// Waits until there is none.
    pub(crate) async fn all_gone(&self) {
        // Never closed.
        let _all = self.limit.acquire_many((FAMILIES * FLOWS) as u32).await;
    }

    /// Passes on what a socket takes in, for as long as it is polled.
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
                // It came before the flow's own socket was there.
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

    /// Nothing for what is not allowed, or cannot be had.
    fn begin(&self, ends: Ends, allowed: &Allowed, running: &mut JoinSet<Ends>) -> Option<Flow> {
        let (program, meant) = ends;
        let target = allowed.target(meant)?;
        let permit = Arc::clone(&self.limit).try_acquire_owned().ok()?;
        let inner = self.namespace.within(|| stand_in(meant, program)).ok()?;
        let inner = UdpSocket::from_std(inner).ok()?;
        let outer = Arc::new(dial(target).ok()?);
        let activity = Arc::new(LastActivity::now());
        let (theirs, latest) = (Arc::clone(&outer), Arc::clone(&activity));
        let task = running.spawn(async move {
            // Given back when the sockets are closed.
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

/// Another one may have begun in its place.
fn forget(flows: &mut HashMap<Ends, Flow>, ended: Result<(Id, Ends), JoinError>) {
    let id = match &ended {
        Ok((id, _)) => *id,
        Err(error) => error.id(),
    };
    flows.retain(|_, flow| flow.task.id() != id);
}

/// Until both have been silent, or one is gone.
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

/// One datagram, if there is one.
fn pass(from: &UdpSocket, to: &UdpSocket) -> io::Result<()> {
    let length = DATAGRAM.with_borrow_mut(|datagram| from.try_recv(datagram));
    match length {
        Ok(length) => say(to, length),
        Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => {}
        Err(reason) => return Err(reason),
    }
    Ok(())
}

/// What has just arrived. It is lost where there is no room for it, as anywhere else on its way.
fn say(to: &UdpSocket, length: usize) {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    // The kernel is asked itself: tokio would not know yet whether a new socket has room.
    let _ = DATAGRAM.with_borrow(|datagram| send(to, &datagram[..length], flags));
}

/// Whose datagram it is, and whom it is meant for; and its length.
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

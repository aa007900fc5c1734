//! Peers that have connected to a pack's port and have not been answered yet.
//!
//! Their number is bounded. When there is no room, one is evicted: the oldest from the source that has the most. A pack
//! needs only a moment to prove itself, so it is rarely the one, and tries again if it is. The pack does the same with
//! connections forwarded to it, but cannot see where they came from.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, Ipv6Addr};

use tokio::task::{AbortHandle, JoinSet};

/// The pending peers, each with a future that resolves to a `T` once the peer has been answered, if ever.
#[derive(Debug)]
pub(crate) struct PendingPeers<T> {
    room: usize,
    /// In the order in which they connected.
    there: Vec<(IpAddr, AbortHandle)>,
    proving: JoinSet<Option<T>>,
}

impl<T: Send + 'static> PendingPeers<T> {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            room,
            there: Vec::new(),
            proving: JoinSet::new(),
        }
    }

    pub(crate) fn add(
        &mut self,
        from: IpAddr,
        proof: impl Future<Output = Option<T>> + Send + 'static,
    ) {
        if self.there.len() >= self.room {
            self.evict();
        }
        let proving = self.proving.spawn(proof);
        self.there.push((source(from), proving));
    }

    /// Evicts a peer; returns whether there was one.
    pub(crate) fn evict(&mut self) -> bool {
        let mut sources: HashMap<IpAddr, usize> = HashMap::new();
        for (source, _) in &self.there {
            *sources.entry(*source).or_default() += 1;
        }
        let most = sources.into_iter().max_by_key(|(_, count)| *count);
        let oldest = most.and_then(|(most, _)| {
            let mut sources = self.there.iter();
            sources.position(|(source, _)| *source == most)
        });
        oldest.is_some_and(|index| {
            self.there.remove(index).1.abort();
            true
        })
    }

    /// Waits for the next peer that has been answered. `None` if no peer is pending.
    pub(crate) async fn answered(&mut self) -> Option<T> {
        loop {
            let ended = self.proving.join_next_with_id().await?;
            let (id, proved) = match ended {
                Ok((id, proved)) => (id, proved),
                Err(gone) => (gone.id(), None),
            };
            self.there.retain(|(_, proving)| proving.id() != id);
            if proved.is_some() {
                return proved;
            }
        }
    }

    /// Drops all pending peers, and returns when they are closed.
    pub(crate) async fn close(mut self) {
        self.proving.shutdown().await;
    }
}

/// The source of an address. An IPv6 network counts as one source: it has more addresses than there could be room for.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::sync::oneshot;

    /// A peer that stays until it is recognised, and then returns its address.
    fn enter(pending: &mut PendingPeers<&'static str>, from: &'static str) -> oneshot::Sender<()> {
        let (known, told) = oneshot::channel();
        pending.add(from.parse().unwrap(), async move {
            told.await.ok().map(|()| from)
        });
        known
    }

    /// Which of them are still pending, once evictions have taken effect.
    async fn are_there(stay: &[oneshot::Sender<()>]) -> Vec<bool> {
        for _ in 0..stay.len() + 1 {
            tokio::task::yield_now().await;
        }
        stay.iter().map(|known| !known.is_closed()).collect()
    }

    #[tokio::test]
    async fn the_source_with_most_peers_is_evicted_first() {
        let mut pending = PendingPeers::new(4);
        let pack = enter(&mut pending, "10.0.0.1");
        let crowd: Vec<_> = (0..9).map(|_| enter(&mut pending, "10.0.0.2")).collect();
        let left = are_there(&crowd).await;
        assert_eq!(left, [[false; 6].as_slice(), &[true; 3]].concat());
        pack.send(()).unwrap();
        assert_eq!(pending.answered().await, Some("10.0.0.1"));
        // There is room for one more again.
        let other = enter(&mut pending, "10.0.0.3");
        assert_eq!(are_there(&crowd[6..]).await, [true; 3]);
        drop(crowd);
        other.send(()).unwrap();
        assert_eq!(pending.answered().await, Some("10.0.0.3"));
        assert_eq!(pending.answered().await, None);
    }

    #[tokio::test]
    async fn a_network_is_one_source() {
        let mut pending = PendingPeers::new(3);
        let pack = enter(&mut pending, "2001:db8:1::1");
        let networks = [
            "2001:db8:2::1",
            "2001:db8:2::2",
            "2001:db8:2:0:1::",
            "2001:db8:2::4",
        ];
        let crowd = networks.map(|from| enter(&mut pending, from));
        assert_eq!(are_there(&crowd).await, [false, false, true, true]);
        assert_eq!(are_there(&[pack]).await, [true]);
    }
}

//! The connections to the runtime. Anyone who reaches its port can connect; authenticated connections may stay.
//!
//! The number of unauthenticated connections is limited. One more evicts the oldest one of the address that has the
//! most: a client that crowds others out is crowded out first.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::limits;

/// All open connections.
#[derive(Clone, Default)]
pub(crate) struct Connections {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    next: u64,
    /// In the order of their arrival.
    all: BTreeMap<u64, Entry>,
}

struct Entry {
    from: IpAddr,
    trusted: bool,
    /// Dropped to evict the connection.
    _open: oneshot::Sender<()>,
}

/// An open connection; dropping it frees its place.
pub(crate) struct Connection {
    number: u64,
    table: Arc<Mutex<Table>>,
}

/// Resolves when a connection is evicted.
pub(crate) type Evicted = oneshot::Receiver<()>;

impl Connections {
    /// Admits a connection; none if authenticated ones take up all the room.
    pub(crate) fn admit(&self, from: IpAddr) -> Option<(Arc<Connection>, Evicted)> {
        let mut table = lock(&self.table);
        let trusted = table.all.values().filter(|entry| entry.trusted).count();
        if trusted >= limits::TRUSTED_CONNECTIONS {
            return None;
        }
        if table.all.len() - trusted >= limits::CONNECTIONS {
            let unauthenticated = table.oldest_unauthenticated()?;
            table.all.remove(&unauthenticated);
        }
        let number = table.next;
        table.next += 1;
        let (open, evicted) = oneshot::channel();
        let entry = Entry {
            from,
            trusted: false,
            _open: open,
        };
        table.all.insert(number, entry);
        let table = Arc::clone(&self.table);
        Some((Arc::new(Connection { number, table }), evicted))
    }
}

impl Table {
    fn oldest_unauthenticated(&self) -> Option<u64> {
        let unauthenticated = || self.all.iter().filter(|(_, entry)| !entry.trusted);
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for (_, entry) in unauthenticated() {
            *counts.entry(entry.from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let mut crowd =
            unauthenticated().filter(|(_, entry)| counts.get(&entry.from) == Some(&most));
        crowd.next().map(|(number, _)| *number)
    }
}

impl Connection {
    /// Records that the peer has authenticated with the token.
    pub(crate) fn trust(&self) {
        if let Some(entry) = lock(&self.table).all.get_mut(&self.number) {
            entry.trusted = true;
        }
    }

    pub(crate) fn is_trusted(&self) -> bool {
        let table = lock(&self.table);
        (table.all.get(&self.number)).is_some_and(|entry| entry.trusted)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.table).all.remove(&self.number);
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_untrusted_connection_of_the_largest_source_is_evicted() {
        let connections = Connections::default();
        let admit = |last| connections.admit(address(last)).unwrap();
        let (single, mut single_evicted) = admit(1);
        let (friend, mut friend_evicted) = admit(2);
        friend.trust();
        // Together with the single one, as many as there may be.
        let mut crowd: Vec<_> = (1..limits::CONNECTIONS).map(|_| admit(2)).collect();
        let another = admit(3);
        assert!(crowd[0].1.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        assert!(crowd[1].1.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        for evicted in [&mut single_evicted, &mut friend_evicted] {
            assert!(evicted.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        }
        assert!(friend.is_trusted() && !single.is_trusted());
        // Dropping an evicted connection frees nobody else's place.
        drop(crowd.remove(0));
        assert_eq!(lock(&connections.table).all.len(), limits::CONNECTIONS + 1);
        drop(another);
        crowd.iter().for_each(|(connection, _)| connection.trust());
        single.trust();
        admit(3).0.trust();
    }

    #[test]
    fn trusted_connections_are_limited_too() {
        let connections = Connections::default();
        let friends: Vec<_> = (0..limits::TRUSTED_CONNECTIONS)
            .map(|_| {
                let friend = connections.admit(address(1)).unwrap();
                friend.0.trust();
                friend
            })
            .collect();
        assert!(connections.admit(address(2)).is_none());
        drop(friends);
        assert!(connections.admit(address(2)).is_some());
    }
}

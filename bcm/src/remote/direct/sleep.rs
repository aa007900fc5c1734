//! A worker that sleeps on connections.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection_reader::ConnectionReader;
use crate::local::ConnectionWait;

/// Lets a worker sleep on these connections, and read those that nobody else reads.
pub(super) fn sleep(connections: &[Arc<ConnectionReader>], wait: &ConnectionWait<'_>) {
    let until = Instant::now() + wait.limit;
    let waker = wait.waker;
    for connection in connections {
        connection.join(waker);
    }
    while read(connections, wait, until) {}
    for connection in connections {
        connection.leave(waker);
    }
}

/// Reads the connections whose reader this worker is; `true` if it has become the reader of more.
fn read(connections: &[Arc<ConnectionReader>], wait: &ConnectionWait<'_>, until: Instant) -> bool {
    let waker = wait.waker;
    let turns = || {
        connections
            .iter()
            .filter(|connection| connection.election.reads(waker))
    };
    let mine: Vec<_> = turns().collect();
    let descriptors = mine
        .iter()
        .map(|connection| connection.as_fd())
        .chain([waker.as_fd()]);
    let mut watched: Vec<_> = descriptors
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        // An error is an interruption: the next round finds out.
        let _ = poll(&mut watched, Timespec::try_from(left).ok().as_ref());
        let come = |watched: &PollFd<'_>| !watched.revents().is_empty();
        let read = mine.iter().zip(&watched).filter(|(_, it)| come(it));
        // A connection that has ended is always readable: the worker has to check.
        let ended = read
            .filter(|(connection, _)| !connection.read_here())
            .count()
            > 0;
        let woken = watched.last().is_some_and(come);
        if woken {
            waker.reset();
        }
        if ended || (wait.found)() {
            return false;
        }
        if woken {
            return turns().count() > mine.len();
        }
    }
}

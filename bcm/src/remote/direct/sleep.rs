//! A worker that sleeps on connections.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::intake::Intake;
use crate::local::Sleeper;

/// A worker sleeps on these connections, and reads those that nobody else does.
pub(super) fn sleep(intakes: &[Arc<Intake>], sleeper: &Sleeper<'_>) {
    let until = Instant::now() + sleeper.limit;
    let bell = sleeper.bell;
    for intake in intakes {
        intake.attend(bell);
    }
    while read(intakes, sleeper, until) {}
    for intake in intakes {
        intake.leave(bell);
    }
}

/// Reads the connections it is this worker's turn with; `true` when it has become its turn with
/// more of them.
fn read(intakes: &[Arc<Intake>], sleeper: &Sleeper<'_>, until: Instant) -> bool {
    let bell = sleeper.bell;
    let turns = || {
        intakes
            .iter()
            .filter(|intake| intake.attendance.reads(bell))
    };
    let mine: Vec<_> = turns().collect();
    let descriptors = mine
        .iter()
        .map(|intake| intake.as_fd())
        .chain([bell.as_fd()]);
    let mut watched: Vec<_> = descriptors
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        // An error is an interruption: the next round tells.
        let _ = poll(&mut watched, Timespec::try_from(left).ok().as_ref());
        let come = |watched: &PollFd<'_>| !watched.revents().is_empty();
        let read = mine.iter().zip(&watched).filter(|(_, it)| come(it));
        // A connection at its end is always readable: the worker has to look around.
        let ended = read.filter(|(intake, _)| !intake.read_here()).count() > 0;
        let rung = watched.last().is_some_and(come);
        if rung {
            bell.silence();
        }
        if ended || (sleeper.found)() {
            return false;
        }
        if rung {
            return turns().count() > mine.len();
        }
    }
}

//! A program's control socket, on which one flare runs at a time.
//!
//! A program has as many lanes as flares may run on it at once; most have one. Commands and events, which concern one
//! flare alone, go over its lane. The process, with its output and its end, is shared by all lanes ([`Program`]).

use std::process::ExitStatus;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::yield_now;

use crate::control_socket::{self, FrameReader, FrameWriter};
use crate::logs::Pipes;
use crate::not_reusable::NotReusable;
use crate::supervisor::Program;

/// A lane of a program.
pub(crate) struct Lane {
    pub(crate) number: usize,
    pub(crate) incoming: FrameReader,
    pub(crate) outgoing: FrameWriter,
    pub(crate) program: Arc<Program>,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Whether something happened last time: then timers and callers have their turn before the next event.
    yields: bool,
    /// Held by the flare that has run for longest: the output in the pipes does not show whose it is, and one flare has
    /// to read them.
    pipes: Option<OwnedMutexGuard<Pipes>>,
}

/// Something that a program did and its flare has to react to.
pub(crate) enum LaneEvent {
    /// There may be whole frames to read.
    Frames,
    /// The control socket was closed, or broke.
    ControlClosed,
    /// There may be whole lines to read.
    Output,
    /// The process has ended.
    Exited(Option<ExitStatus>),
}

impl Lane {
    pub(crate) fn new(number: usize, control: UnixStream, program: Arc<Program>) -> Self {
        let (incoming, outgoing) = control_socket::split(control);
        Self {
            number,
            incoming,
            outgoing,
            exit: program.exit(),
            program,
            yields: false,
            pipes: None,
        }
    }

    /// Waits for the next event. If several are ready it picks one at random, so that one that never pauses cannot
    /// starve the others. Cancel safe. `frames` is whether to read the socket, `alive` whether the process has not been
    /// seen to end.
    pub(crate) async fn next_event(&mut self, frames: bool, alive: bool) -> LaneEvent {
        if self.yields {
            yield_now().await;
        }
        self.yields = false;
        let event = tokio::select! {
            filled = self.incoming.fill(), if frames => match filled {
                Ok(true) => LaneEvent::Frames,
                Ok(false) | Err(_) => LaneEvent::ControlClosed,
            },
            () = listen(&mut self.pipes, &self.program) => LaneEvent::Output,
            status = ended(&mut self.exit), if alive => LaneEvent::Exited(status),
            () = self.outgoing.flush(), if !self.outgoing.is_empty() => LaneEvent::Output,
        };
        self.yields = true;
        event
    }

    /// Begins another flare, beside others or `alone`. Returns whether it is the first one on its program.
    pub(crate) fn begin(&mut self, alone: bool) -> bool {
        let first = self.program.begin(alone);
        if let Some(pipes) = self.pipes()
            && alone
            && !first
        {
            pipes.reset();
        }
        first
    }

    /// Returns the program's pipes, unless another flare reads them.
    pub(crate) fn pipes(&mut self) -> Option<&mut Pipes> {
        if self.pipes.is_none() {
            self.pipes = Arc::clone(&self.program.pipes).try_lock_owned().ok();
        }
        self.pipes.as_deref_mut()
    }

    /// Returns whether nothing more can come through the pipes for this flare.
    pub(crate) fn has_heard_pipes(&self) -> bool {
        !self.pipes.as_ref().is_some_and(|pipes| pipes.are_open())
    }

    /// Returns why no further flare can run on it, if so: the last message is half an event, or the socket was closed.
    pub(crate) fn is_broken(&mut self) -> Option<NotReusable> {
        self.incoming.drain();
        if self.incoming.is_cut_short() {
            return Some(NotReusable::CutShort);
        }
        self.incoming.is_closed().then_some(NotReusable::Closed)
    }

    /// Prepares for a time without a flare: the flare of another lane may read the pipes.
    pub(crate) fn rest(&mut self) {
        self.pipes = None;
        self.incoming.rest();
        self.outgoing.rest();
    }
}

/// Reads the pipes, or waits for its turn to read them.
async fn listen(held: &mut Option<OwnedMutexGuard<Pipes>>, program: &Program) {
    match held {
        Some(pipes) => pipes.fill().await,
        None => *held = Some(Arc::clone(&program.pipes).lock_owned().await),
    }
}

/// Waits for the process to end, and returns how it did.
async fn ended(exit: &mut watch::Receiver<Option<ExitStatus>>) -> Option<ExitStatus> {
    let status = exit.wait_for(Option::is_some).await;
    status.ok().and_then(|status| *status)
}

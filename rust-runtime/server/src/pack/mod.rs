//! One flare on this pack: orders to the program, its events to the client, and a proper end
//! whatever happens.
//!
//! ```text
//! running ──program says pack-ended──────────────────────────▶ ended
//!    │ a worker failed, /abort, deadline: abort, 250 ms grace     ▲
//!    ├────────────────────────▶ aborting ──grace over: kill──┐    │
//!    │ client gone, lease over: kill                         ▼    │
//!    └──process died──────────────────────────────────────▶ dead ─┘
//! ```
//!
//! Other flares may run on the same program, each on its own lane: killing the program ends them as well, and so does
//! its death.

mod ending;
mod outbox;
mod timers;

use std::process::ExitStatus;
use std::time::Duration;

use burst_protocol::{
    Command, Failure, FailureKind, LogStream, PackEvent, ProgramEvent, RunPack, Timestamp,
};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::checks::{self, Checks};
use crate::exit_attribution::ExitCause;
use crate::lane::{Lane, LaneEvent};
use crate::limits;
use crate::logs::Pipes;
use crate::not_reusable::NotReusable;
use crate::supervisor::Program;
use crate::tracker::{AnnouncedExit, End, Tracker, Verdict};
use crate::violation::ProtocolViolation;
use outbox::Outbox;
use timers::{Due, FOREVER, Timers};

/// An order of the runtime's callers to a running flare.
#[derive(Debug)]
pub(crate) enum Order {
    Start(Vec<String>),
    Abort(Failure),
    /// The flare may run for this long from now on.
    Renew(Duration),
    /// The runtime is being shut down, and its pack with it.
    Leave,
}

/// The state in which a flare left its program.
pub(crate) struct Outcome {
    /// The lane stays open: closing it would end the program, and the other flares that run on it.
    pub(crate) lane: Box<Lane>,
    /// Why the program cannot run another flare, if so.
    pub(crate) spent: Option<NotReusable>,
}

/// Records the end of a flare, for the other flares of its program.
pub(crate) trait Completion {
    /// Records that the flare has ended well. Returns whether it is the last one here: then no other begins until it is
    /// settled.
    fn leave(&self) -> bool;
    /// Records that the flare is over, and has left the program in this state.
    fn settle(self, outcome: Outcome);
}

/// Runs a flare as the run of this number, beside others or `alone`. Its events go to `client` line by line; its
/// completion is recorded before the last line is sent, so that a client can return immediately.
pub(crate) async fn run(
    lane: Box<Lane>,
    alone: bool,
    (run, pack): (u64, RunPack),
    mut orders: mpsc::Receiver<Order>,
    client: mpsc::Sender<Bytes>,
    completion: impl Completion,
) {
    let grouped = pack.group.is_some();
    let mut flare = RunningFlare::new(lane, alone, run, &pack);
    flare.command(&Command::Run {
        run,
        pack: Box::new(pack),
    });
    flare.drive(&mut orders, &client).await;
    if flare.said.is_none() {
        flare.drain().await;
    }
    if flare.said.as_ref().is_some_and(|end| end.reusable) && completion.leave() {
        let cleaned = flare.clean_up(grouped, &mut orders).await;
        if let Some(end) = &mut flare.said {
            end.reusable = cleaned;
        }
    }
    let (outcome, last) = flare.end();
    completion.settle(outcome);
    if !last.is_empty() {
        // This may take any time: outputs wait until they are stored, and a client that hangs up ends it. Nothing else
        // depends on it.
        let _ = client.send(last.freeze()).await;
    }
}

struct RunningFlare {
    lane: Box<Lane>,
    run: u64,
    /// The worker whose output comes through the pipes: the only one, if a launcher uses the pipes for it and no other
    /// flare can run beside it.
    speaker: Option<u32>,
    checks: Checks,
    tracker: Tracker,
    outbox: Outbox,
    timers: Timers,
    /// Why the runtime is ending the flare, if it is.
    reason: Option<Failure>,
    killed: bool,
    /// Whether it was killed because the runtime is being shut down, for which no worker is to blame.
    leaving: bool,
    control_open: bool,
    exited: Option<Exited>,
    /// Whether everything that the program sent to this flare before its end has been read.
    drained: bool,
    /// The program's report that the pack has ended.
    said: Option<End>,
}

/// The next thing that a flare handles, apart from orders and timers.
enum Next<'a> {
    Event(LaneEvent),
    /// The client has room for pending lines.
    Room(mpsc::Permit<'a, Bytes>),
    /// The client has hung up.
    Gone,
}

struct Exited {
    status: Option<ExitStatus>,
    settled_at: Instant,
}

impl RunningFlare {
    fn new(mut lane: Box<Lane>, alone: bool, run: u64, pack: &RunPack) -> Self {
        let first_run = lane.begin(alone);
        let program = &lane.program;
        let speaks = program.is_launched() && !program.is_shared() && pack.pack_size() == 1;
        let mut timers = Timers::new(pack);
        if !alone {
            // The other flares may keep it from joining for as long as they compute, which is not a failed start.
            timers.joined();
        }
        Self {
            lane,
            run,
            speaker: speaks.then(|| pack.first_worker()),
            checks: Checks::new(pack, run, first_run),
            tracker: Tracker::new(pack),
            outbox: Outbox::new(pack),
            timers,
            reason: None,
            killed: false,
            leaving: false,
            control_open: true,
            exited: None,
            drained: false,
            said: None,
        }
    }

    /// Runs until the program has reported the end of the pack, or its process has ended.
    async fn drive(&mut self, orders: &mut mpsc::Receiver<Order>, client: &mpsc::Sender<Bytes>) {
        let mut client_here = true;
        while self.said.is_none() && !self.is_dead() {
            // A slow client slows the program down, but never delays its end.
            let read =
                self.control_open && (self.killed || self.outbox.waiting() < limits::PENDING);
            let alive = self.exited.is_none();
            let timer = self.next_timer();
            let due = (self.outbox.leaves_at()).is_some_and(|at| at <= Instant::now());
            // Picks one at random if several are ready: a program that never pauses cannot starve the others.
            let next = async {
                tokio::select! {
                    event = self.lane.next_event(read, alive) => Next::Event(event),
                    room = client.reserve(), if client_here && due => room.map_or(Next::Gone, Next::Room),
                    () = client.closed(), if client_here => Next::Gone,
                }
            };
            tokio::select! {
                biased;
                Some(order) = orders.recv() => self.obey(order),
                () = sleep_until(timer) => self.tick(read),
                next = next => match next {
                    Next::Event(event) => self.react(event),
                    Next::Room(room) => room.send(self.outbox.take().freeze()),
                    Next::Gone => client_here = false,
                },
            }
            if !client_here {
                self.outbox.take();
                self.abandon();
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start(endpoints) => {
                self.tracker.begin();
                self.command(&Command::Start { endpoints });
            }
            Order::Abort(failure) => self.abort(failure),
            Order::Leave => {
                self.leaving = true;
                self.program().doom();
                self.program().group.kill();
            }
            Order::Renew(time) => self.timers.renew(time),
        }
    }

    fn react(&mut self, event: LaneEvent) {
        match event {
            LaneEvent::Frames => self.read_frames(),
            LaneEvent::Output => {}
            LaneEvent::ControlClosed => {
                self.control_open = false;
                self.program().doom();
                self.timers.kill_within(limits::DYING);
            }
            LaneEvent::Exited(status) => {
                let settled_at = Instant::now() + limits::SETTLE;
                self.exited = Some(Exited { status, settled_at });
            }
        }
        self.log_output();
    }

    /// Reads the events that have arrived, up to the pack's end: nothing that follows is about this flare.
    fn read_frames(&mut self) {
        while self.said.is_none() {
            let heard = match self.lane.incoming.next() {
                Ok(None) => return,
                Ok(Some(frame)) => self.checks.read(&frame, self.reason.as_ref()),
                Err(violation) => Err(violation),
            };
            let seen = heard.and_then(|event| event.map_or(Ok(()), |event| self.see(event)));
            if let Err(violation) = seen {
                self.control_open = false;
                let mut message = format!("the program broke the protocol: {violation}");
                checks::shorten(&mut message, limits::VIOLATION);
                return self.kill(Failure::new(FailureKind::Internal, message));
            }
        }
    }

    /// Handles an event. The error is why it cannot be true.
    fn see(&mut self, event: ProgramEvent) -> Result<(), ProtocolViolation> {
        let event = match event {
            ProgramEvent::Pack(event) => event,
            ProgramEvent::Hello { .. } => return Ok(()),
            ProgramEvent::Dying { worker, signal } => {
                self.tracker.announce_exit(AnnouncedExit { worker, signal });
                self.program().doom();
                let cause = ExitCause::Announced { signal };
                self.program().attribution.attribute(self.run, cause);
                self.timers.kill_within(limits::DYING);
                return Ok(());
            }
        };
        match self.tracker.see(&event) {
            Verdict::Drop => {}
            Verdict::Violation(violation) => return Err(violation),
            Verdict::Ended(end) => self.said = Some(end),
            Verdict::Forward => self.pass(event),
        }
        Ok(())
    }

    fn pass(&mut self, event: PackEvent) {
        match event {
            PackEvent::Log {
                worker,
                stream,
                ref text,
                at,
            } => {
                if stream == LogStream::Stderr {
                    text.lines().for_each(|line| self.program().said(line));
                }
                return self.outbox.say(worker, stream, text, at);
            }
            PackEvent::Ready { .. } => {
                self.timers.joined();
                self.program().keep_workers();
            }
            _ => {}
        }
        self.outbox.put(&event);
        if let PackEvent::WorkerFailed { error, .. } = event {
            // The other workers are notified inside the program; this is for those that do not react.
            self.blame(error);
            self.timers.kill_within(limits::GRACE);
        }
    }

    fn log_output(&mut self) {
        let at = Timestamp::now();
        let lines = self.lane.pipes().map(Pipes::lines).unwrap_or_default();
        for (stream, line) in lines {
            self.program().said(&line);
            self.outbox.say(self.speaker, stream, &line, at);
        }
    }

    fn command(&mut self, command: &Command) {
        if let Err(error) = self.lane.outgoing.queue(command) {
            let message = format!("a command has no JSON form: {error}");
            self.kill(Failure::new(FailureKind::Internal, message));
        }
    }

    /// Asks the program to end the flare, and kills it if it does not within the grace period.
    fn abort(&mut self, failure: Failure) {
        self.command(&Command::Abort {
            error: failure.clone(),
        });
        self.blame(failure);
        self.timers.kill_within(limits::GRACE);
    }

    /// Records why the flare is being ended, and that the program cannot be used again. The first reason counts.
    fn blame(&mut self, failure: Failure) {
        let reason = failure.unless_overdue(self.timers.is_overdue());
        self.reason.get_or_insert(reason);
        self.program().doom();
    }

    fn abandon(&mut self) {
        if !self.killed {
            self.kill(Failure::new(FailureKind::Cancelled, "the caller hung up"));
        }
    }

    fn kill(&mut self, failure: Failure) {
        self.reason.get_or_insert(failure);
        self.kill_program();
    }

    /// Kills the program, and so ends all flares on it. The cause is recorded for the others.
    fn kill_program(&mut self) {
        self.killed = true;
        let cause = ExitCause::Killed(deed(self.reason.as_ref()));
        let program = self.program();
        program.doom();
        program.attribution.attribute(self.run, cause);
        program.group.kill();
    }

    fn program(&self) -> &Program {
        &self.lane.program
    }

    fn next_timer(&self) -> Instant {
        let settled = self.exited.as_ref().map(|exited| exited.settled_at);
        let leaves = self.outbox.leaves_at().filter(|&at| at > Instant::now());
        let timers = (!self.killed).then(|| self.timers.next(self.reason.is_some()));
        let never = Instant::now() + FOREVER;
        let moments = [settled, leaves, timers].into_iter().flatten();
        moments.min().unwrap_or(never)
    }

    /// Handles a timer that is due. `read` is whether events of the program may be read.
    fn tick(&mut self, read: bool) {
        if self.killed || self.timers.due(self.reason.is_some()).is_none() {
            return;
        }
        // Events that have arrived are not late, even if all stood still and the event loop has not polled since.
        if read {
            self.lane.incoming.drain();
            self.read_frames();
            if self.killed || self.said.is_some() {
                return;
            }
        }
        match self.timers.due(self.reason.is_some()) {
            None => {}
            Some(Due::Kill) => {
                // Packs reach their deadlines one after the other: this one's may have passed only now.
                if let Some(reason) = self.reason.take() {
                    self.blame(reason);
                }
                self.kill_program();
            }
            Some(Due::Lapsed) => self.kill(Failure::new(FailureKind::InvokerLost, LAPSED)),
            Some(Due::Overdue) => self.abort(Failure::overdue()),
            Some(Due::NotReady) => {
                let seconds = limits::READY.as_secs();
                let message = format!("the program did not join the flare within {seconds} s");
                let failure = Failure::new(FailureKind::StartFailed, message);
                let mut failure = failure.in_operation("start");
                failure.pack = Some(self.tracker.pack());
                self.abort(failure);
            }
        }
    }

    /// Returns whether the process has ended, and everything it sent has been read or is no longer waited for.
    fn is_dead(&self) -> bool {
        let Some(exited) = &self.exited else {
            return false;
        };
        let silent = |open: bool| !open;
        let heard = silent(self.control_open) && self.lane.has_heard_pipes();
        heard || exited.settled_at <= Instant::now()
    }
}

/// Returns what a call did for which its program had to be killed, as it follows "another call in it".
fn deed(reason: Option<&Failure>) -> &'static str {
    match reason.map(|reason| reason.kind) {
        Some(FailureKind::Timeout) => "did not end in time",
        Some(FailureKind::Cancelled) => "was cancelled and did not end",
        Some(FailureKind::InvokerLost) => "was given up with its invoker",
        Some(FailureKind::Internal) => "broke the protocol",
        Some(_) => "failed and did not end",
        None => "closed its control socket",
    }
}

const LAPSED: &str = "the invoker was not heard of for so long that it counts as lost";

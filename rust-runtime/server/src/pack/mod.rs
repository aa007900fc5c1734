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
//! Others may run on the same program, each on a lane of its own: to kill it ends them as well, and so does its death.

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
use crate::tracker::{Dying, End, Tracker, Verdict};
use crate::violation::ProtocolViolation;
use outbox::Outbox;
use timers::{Due, FOREVER, Timers};

/// What the runtime's callers may ask of a running flare.
#[derive(Debug)]
pub(crate) enum Order {
    Start(Vec<String>),
    Abort(Failure),
    /// It may run for this long from now on.
    Renew(Duration),
    /// The runtime was told to end, and its pack with it.
    Leave,
}

/// How a flare left its program.
pub(crate) struct Outcome {
    /// It stays open: were it closed, the program would end, and the others that run on it as well.
    pub(crate) lane: Box<Lane>,
    /// Why the program is of no use for another flare, unless it is.
    pub(crate) spent: Option<NotReusable>,
}

/// A flare's admission to its program.
pub(crate) trait Admission {
    /// The flare has ended well. Whether it is the last one here: then no other begins until it is settled.
    fn leave(&self) -> bool;
    /// The flare is over, and has left the program in this state.
    fn settle(self, outcome: Outcome);
}

/// Runs a flare, as the run of this number, with others beside it or `alone`. Its events go to `client` line by line;
/// its admission is settled before the last line leaves, so that a client may come back at once.
pub(crate) async fn run(
    lane: Box<Lane>,
    alone: bool,
    (run, pack): (u64, RunPack),
    mut orders: mpsc::Receiver<Order>,
    client: mpsc::Sender<Bytes>,
    admission: impl Admission,
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
    if flare.said.as_ref().is_some_and(|end| end.reusable) && admission.leave() {
        let cleaned = flare.clean_up(grouped, &mut orders).await;
        if let Some(end) = &mut flare.said {
            end.reusable = cleaned;
        }
    }
    let (outcome, last) = flare.end();
    admission.settle(outcome);
    if !last.is_empty() {
        // However long that takes: outputs wait until they are stored, and one who has gone ends it. Nothing else
        // depends on it.
        let _ = client.send(last.freeze()).await;
    }
}

struct RunningFlare {
    lane: Box<Lane>,
    run: u64,
    /// Whose output comes through the pipes: that of the only worker, where a launcher leaves it to them and no other
    /// flare can be beside it.
    speaker: Option<u32>,
    checks: Checks,
    tracker: Tracker,
    outbox: Outbox,
    timers: Timers,
    /// Why the flare is being ended from here, if it is.
    reason: Option<Failure>,
    killed: bool,
    /// Killed because the runtime ends, for which nobody here is to blame.
    leaving: bool,
    control_open: bool,
    exited: Option<Exited>,
    /// Of the program's end the others need not wait for anything from here.
    drained: bool,
    /// The program's own word that the pack has ended.
    said: Option<End>,
}

/// What a flare goes on with, but for orders and time.
enum Next<'a> {
    Event(LaneEvent),
    /// The client takes some of what there is for it.
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
            // The others may keep it from joining for as long as they compute, which is no fault of a start.
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

    /// Runs until the program said that the pack has ended, or its process has.
    async fn drive(&mut self, orders: &mut mpsc::Receiver<Order>, client: &mpsc::Sender<Bytes>) {
        let mut client_here = true;
        while self.said.is_none() && !self.is_dead() {
            // A slow client slows the program down, but never its end.
            let read =
                self.control_open && (self.killed || self.outbox.waiting() < limits::PENDING);
            let alive = self.exited.is_none();
            let timer = self.next_timer();
            let due = (self.outbox.leaves_at()).is_some_and(|at| at <= Instant::now());
            // Any of these: a program that never pauses keeps nobody else from being heard.
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

    /// Reads what has come, up to the pack's end: nothing that follows is about this flare.
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

    /// The error says that the event cannot be true.
    fn see(&mut self, event: ProgramEvent) -> Result<(), ProtocolViolation> {
        let event = match event {
            ProgramEvent::Pack(event) => event,
            ProgramEvent::Hello { .. } => return Ok(()),
            ProgramEvent::Dying { worker, signal } => {
                self.tracker.dies(Dying { worker, signal });
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
            // The others learn of it inside the program; this is for those who do not listen.
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

    /// The first reason counts.
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

    /// Ends all that run on the program, which the others are told.
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

    /// `read`: what the program says may be heard.
    fn tick(&mut self, read: bool) {
        if self.killed || self.timers.due(self.reason.is_some()).is_none() {
            return;
        }
        // What has come by now is not late, though the event loop has not looked since all stood still.
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
                // Packs are told their time one after the other: this one's may be up only now.
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

    /// Whether the process has ended and everything it said has been heard.
    fn is_dead(&self) -> bool {
        let Some(exited) = &self.exited else {
            return false;
        };
        let silent = |open: bool| !open;
        let heard = silent(self.control_open) && self.lane.has_heard_pipes();
        heard || exited.settled_at <= Instant::now()
    }
}

/// What a call did that its program had to be killed for, after "another call in it".
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

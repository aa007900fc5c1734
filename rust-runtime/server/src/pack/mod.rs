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
use crate::cleanup;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::supervisor::{Program, SupervisorEvent};
use crate::tracker::{Dying, End, Tracker, Verdict};
use crate::violation::ProtocolViolation;
use outbox::Outbox;
use timers::{Due, FOREVER, Timers};

/// What the runtime's callers may ask of a running flare.
#[derive(Debug)]
pub(crate) enum Order {
    Start(Vec<String>),
    Abort(Failure),
    /// It may run for so long from now on.
    Renew(Duration),
    /// The runtime was told to end, and its pack with it.
    Leave,
}

/// How a flare left its program.
pub(crate) enum Outcome {
    /// It waits for the next one.
    Reusable(Box<Program>),
    /// It is dead, or being killed, for this reason.
    NotReusable(NotReusable),
}

/// Runs a flare, as the run of this number. Its events go to `client` line by line; `settle` is called with what became of
/// the program before the last line leaves, so that a client may come back at once.
pub(crate) async fn run(
    program: Box<Program>,
    (run, pack): (u64, RunPack),
    orders: mpsc::Receiver<Order>,
    client: mpsc::Sender<Bytes>,
    settle: impl FnOnce(Outcome),
) {
    let grouped = pack.group.is_some();
    let mut flare = RunningFlare::new(program, run, &pack);
    flare.command(&Command::Run {
        run,
        pack: Box::new(pack),
    });
    flare.drive(orders, &client).await;
    if let Some(End {
        reusable: reusable @ true,
        ..
    }) = &mut flare.said
    {
        flare.program.keep_images_processes();
        *reusable = cleanup::clean_up(&flare.program, grouped).await;
    }
    let (outcome, last) = flare.end();
    settle(outcome);
    if !last.is_empty() {
        // A client that does not read is given up: nothing depends on it any more.
        let _ = tokio::time::timeout(limits::FAREWELL, client.send(last.freeze())).await;
    }
}

struct RunningFlare {
    program: Box<Program>,
    /// Whose output comes through the pipes: that of the only worker, where a launcher leaves it to them.
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
    /// The program's own word that the pack has ended.
    said: Option<End>,
}

struct Exited {
    status: Option<ExitStatus>,
    settled_at: Instant,
}

impl RunningFlare {
    fn new(mut program: Box<Program>, run: u64, pack: &RunPack) -> Self {
        let first_run = program.begin();
        let alone = program.is_launched() && pack.pack_size() == 1;
        Self {
            program,
            speaker: alone.then(|| pack.first_worker()),
            checks: Checks::new(pack, run, first_run),
            tracker: Tracker::new(pack),
            outbox: Outbox::new(pack),
            timers: Timers::new(pack),
            reason: None,
            killed: false,
            leaving: false,
            control_open: true,
            exited: None,
            said: None,
        }
    }

    /// Runs until the program said that the pack has ended, or its process has.
    async fn drive(&mut self, mut orders: mpsc::Receiver<Order>, client: &mpsc::Sender<Bytes>) {
        let mut client_here = true;
        while self.said.is_none() && !self.is_dead() {
            // A slow client slows the program down, but never its end.
            let read =
                self.control_open && (self.killed || self.outbox.waiting() < limits::PENDING);
            let alive = self.exited.is_none();
            let timer = self.next_timer();
            let due = (self.outbox.leaves_at()).is_some_and(|at| at <= Instant::now());
            tokio::select! {
                biased;
                Some(order) = orders.recv() => self.obey(order),
                () = sleep_until(timer) => self.tick(),
                event = self.program.next_event(read, alive) => self.react(event),
                room = client.reserve(), if client_here && due => match room {
                    Ok(room) => room.send(self.outbox.take().freeze()),
                    Err(_gone) => client_here = false,
                },
                () = client.closed(), if client_here => client_here = false,
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
                self.program.group.kill();
            }
            Order::Renew(time) => self.timers.renew(time),
        }
    }

    fn react(&mut self, event: SupervisorEvent) {
        match event {
            SupervisorEvent::Frames => self.read_frames(),
            SupervisorEvent::Output => {}
            SupervisorEvent::ControlClosed => {
                self.control_open = false;
                self.timers.kill_within(limits::DYING);
            }
            SupervisorEvent::Exited(status) => {
                let settled_at = Instant::now() + limits::SETTLE;
                self.exited = Some(Exited { status, settled_at });
            }
        }
        self.log_output();
    }

    /// Reads what has come, up to the pack's end: nothing that follows is about this flare.
    fn read_frames(&mut self) {
        while self.said.is_none() {
            let heard = match self.program.incoming.next() {
                Ok(None) => return,
                Ok(Some(frame)) => self.checks.read(&frame, self.reason.as_ref()),
                Err(violation) => Err(violation),
            };
            let seen = heard.and_then(|event| event.map_or(Ok(()), |event| self.see(event)));
            if let Err(violation) = seen {
                self.control_open = false;
                let mut message = format!("the program broke the protocol: {violation}");
                checks::shorten(&mut message, limits::NAME);
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
                    text.lines().for_each(|line| self.program.said(line));
                }
                return self.outbox.say(worker, stream, text, at);
            }
            PackEvent::Ready { .. } => {
                self.timers.joined();
                self.program.keep_workers();
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
        let Program { stdout, stderr, .. } = &mut *self.program;
        let lines: Vec<_> = [stdout, stderr]
            .into_iter()
            .flat_map(|pipe| {
                let stream = pipe.stream();
                pipe.lines()
                    .map(move |line| (stream, line))
                    .collect::<Vec<_>>()
            })
            .collect();
        for (stream, line) in lines {
            self.program.said(&line);
            self.outbox.say(self.speaker, stream, &line, at);
        }
    }

    fn command(&mut self, command: &Command) {
        if let Err(error) = self.program.outgoing.queue(command) {
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
    }

    fn abandon(&mut self) {
        if !self.killed {
            self.kill(Failure::new(FailureKind::Cancelled, "the caller hung up"));
        }
    }

    fn kill(&mut self, failure: Failure) {
        self.reason.get_or_insert(failure);
        self.killed = true;
        self.program.group.kill();
    }

    fn next_timer(&self) -> Instant {
        let settled = self.exited.as_ref().map(|exited| exited.settled_at);
        let leaves = self.outbox.leaves_at().filter(|&at| at > Instant::now());
        let timers = (!self.killed).then(|| self.timers.next(self.reason.is_some()));
        let never = Instant::now() + FOREVER;
        let moments = [settled, leaves, timers].into_iter().flatten();
        moments.min().unwrap_or(never)
    }

    fn tick(&mut self) {
        if self.killed {
            return;
        }
        match self.timers.due(self.reason.is_some()) {
            None => {}
            Some(Due::Kill) => {
                // Packs are told their time one after the other: this one's may be up only now.
                if let Some(reason) = self.reason.take() {
                    self.blame(reason);
                }
                self.killed = true;
                self.program.group.kill();
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
        let heard = silent(self.control_open)
            && silent(self.program.stdout.is_open())
            && silent(self.program.stderr.is_open());
        heard || exited.settled_at <= Instant::now()
    }
}

const LAPSED: &str = "the invoker was not heard of for so long that it counts as lost";

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

use bytes::{BufMut, Bytes, BytesMut};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use burst::protocol::{
    self, Command, Depth, Failure, FailureKind, LogStream, OUTPUT_DEPTH, PackEvent, ProgramEvent,
    RunPack, now, without_values,
};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::checks::{self, Checks};
use crate::journal::Journal;
use crate::limits;
use crate::output;
use crate::supervisor::{Happening, Program};
use crate::tracker::{Dying, Tracker, Verdict};

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
    Spent(String),
}

/// Runs a flare. Its events go to `client` line by line; `settle` is called with what became of
/// the program before the last line leaves, so that a client may come back at once.
pub(crate) async fn run(
    program: Box<Program>,
    run: RunPack,
    orders: mpsc::Receiver<Order>,
    client: mpsc::Sender<Bytes>,
    settle: impl FnOnce(Outcome),
) {
    let mut flare = Flare::new(program, &run);
    flare.command(&Command::Run(Box::new(run)));
    flare.drive(orders, &client).await;
    let (outcome, last) = flare.end();
    settle(outcome);
    if !last.is_empty() {
        // A client that does not read is given up: nothing depends on it any more.
        let _ = tokio::time::timeout(limits::FAREWELL, client.send(last.freeze())).await;
    }
}

struct Flare {
    program: Box<Program>,
    checks: Checks,
    tracker: Tracker,
    journal: Journal,
    pending: BytesMut,
    /// When what is pending leaves.
    leaves_at: Option<Instant>,
    deadline: Instant,
    /// When whoever answers for the flare takes it for dead, unless they are heard of before.
    lease: Option<Instant>,
    /// Why the flare is being ended from here, if it is.
    reason: Option<Failure>,
    /// When the program is killed if it has not ended by itself.
    kill_at: Option<Instant>,
    killed: bool,
    /// Killed because the runtime ends, for which nobody here is to blame.
    leaving: bool,
    control_open: bool,
    exited: Option<Exited>,
    /// The program's own word that the pack has ended.
    said: Option<(bool, Option<Failure>)>,
}

struct Exited {
    status: Option<ExitStatus>,
    settled_at: Instant,
}

impl Flare {
    fn new(mut program: Box<Program>, run: &RunPack) -> Self {
        program.begin();
        Self {
            program,
            checks: Checks::new(run),
            tracker: Tracker::new(run),
            journal: Journal::new(run.first_worker(), run.pack_size()),
            pending: BytesMut::new(),
            leaves_at: None,
            deadline: protocol::due(run.deadline).into(),
            lease: run
                .lease
                .map(|millis| Instant::now() + Duration::from_millis(millis).min(FOREVER)),
            reason: None,
            kill_at: None,
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
            let read = self.control_open && (self.killed || self.waiting() < limits::PENDING);
            let alive = self.exited.is_none();
            let timer = self.next_timer();
            let due = self.leaves_at.is_some_and(|at| at <= Instant::now());
            tokio::select! {
                biased;
                Some(order) = orders.recv() => self.obey(order),
                () = sleep_until(timer) => self.tick(),
                happening = self.program.happens(read, alive) => self.react(happening),
                room = client.reserve(), if client_here && due => match room {
                    Ok(room) => room.send(self.take_pending()),
                    Err(_gone) => client_here = false,
                },
                () = client.closed(), if client_here => client_here = false,
            }
            if !client_here {
                self.take_pending();
                self.abandon();
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start(endpoints) => self.command(&Command::Start { endpoints }),
            Order::Abort(failure) => self.abort(failure),
            Order::Leave => {
                self.leaving = true;
                self.program.group.kill();
            }
            Order::Renew(time) => self.lease = Some(Instant::now() + time.min(FOREVER)),
        }
    }

    fn react(&mut self, happening: Happening) {
        match happening {
            Happening::Frames => self.read_frames(),
            Happening::Output => {}
            Happening::ControlClosed => {
                self.control_open = false;
                self.kill_within(limits::DYING);
            }
            Happening::Exited(status) => {
                let settled_at = Instant::now() + limits::SETTLE;
                self.exited = Some(Exited { status, settled_at });
            }
        }
        self.log_output();
    }

    fn read_frames(&mut self) {
        loop {
            let event = match self.program.incoming.next() {
                Ok(None) => return,
                Ok(Some(frame)) => self.read(&frame),
                Err(error) => Err(error.to_string()),
            };
            match event {
                Ok(event) => self.see(event),
                Err(error) => {
                    self.control_open = false;
                    let mut message = format!("the program broke the protocol: {error}");
                    checks::shorten(&mut message, limits::NAME);
                    self.kill(Failure::new(FailureKind::Internal, message));
                    return;
                }
            }
        }
    }

    fn read(&self, frame: &[u8]) -> Result<ProgramEvent, String> {
        let event = serde_json::from_slice(frame).map_err(|error| {
            let error = without_values(&error.to_string());
            format!("it sent an event that is none: {error}")
        })?;
        match shallow(frame, event)? {
            ProgramEvent::Pack(event) => self.checks.fit(event).map(ProgramEvent::Pack),
            other => Ok(other),
        }
    }

    fn see(&mut self, event: ProgramEvent) {
        let event = match event {
            ProgramEvent::Pack(event) => event,
            ProgramEvent::Hello { .. } => return,
            ProgramEvent::Dying { worker, signal } => {
                self.tracker.dies(Dying { worker, signal });
                self.kill_within(limits::DYING);
                return;
            }
        };
        match self.tracker.see(&event) {
            Verdict::Drop => {}
            Verdict::Ended { reusable, error } => self.said = Some((reusable, error)),
            Verdict::Forward => self.pass(event),
        }
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
                self.journal.say(worker, stream, text, at);
                self.leave_within(limits::GATHERING);
                return;
            }
            PackEvent::WorkerSucceeded { worker, .. } | PackEvent::WorkerFailed { worker, .. } => {
                let said = self.journal.take_of(worker);
                said.iter().for_each(|event| self.emit(event));
            }
            _ => {}
        }
        match &event {
            PackEvent::WorkerSucceeded { worker, output, at } => {
                for event in output::events(*worker, output.get(), *at) {
                    self.write(&event, Duration::ZERO);
                }
            }
            _ => self.emit(&event),
        }
        if let PackEvent::WorkerFailed { error, .. } = event {
            // The others learn of it inside the program; this is for those who do not listen.
            self.blame(error);
            self.kill_within(limits::GRACE);
        }
    }

    fn emit(&mut self, event: &PackEvent) {
        self.write(event, patience(event));
    }

    /// Makes an event one of those that are to leave, after so long at the latest.
    fn write(&mut self, event: &impl Serialize, patience: Duration) {
        let start = self.pending.len();
        // Events are plain data, which always has a JSON form.
        if serde_json::to_writer((&mut self.pending).writer(), event).is_err() {
            self.pending.truncate(start);
            return;
        }
        // Within JSON a line break can only be white space, but here it would end the event.
        for byte in &mut self.pending[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.pending.extend_from_slice(b"\n");
        self.leave_within(patience);
    }

    /// What is there, if anything, leaves after this time, or at once where it is much.
    fn leave_within(&mut self, patience: Duration) {
        if self.waiting() == 0 {
            return;
        }
        let at = match self.waiting() < limits::GATHERED {
            true => Instant::now() + patience,
            false => Instant::now(),
        };
        self.leaves_at = Some(self.leaves_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn waiting(&self) -> usize {
        self.pending.len() + self.journal.waiting()
    }

    fn gather(&mut self) {
        let said = self.journal.take();
        said.iter().for_each(|event| self.emit(event));
    }

    fn take_pending(&mut self) -> Bytes {
        self.gather();
        self.leaves_at = None;
        self.pending.split().freeze()
    }

    fn log_output(&mut self) {
        let at = now();
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
            self.journal.say(None, stream, &line, at);
            self.leave_within(limits::GATHERING);
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
        self.kill_within(limits::GRACE);
    }

    /// The first reason counts. That a peer failed or waited in vain when the flare's time was up is no fault of
    /// the peer: it met the same deadline a moment earlier.
    fn blame(&mut self, failure: Failure) {
        let consequence = matches!(failure.kind, FailureKind::PeerFailed | FailureKind::Timeout);
        let reason = match consequence && self.deadline <= Instant::now() {
            true => Failure::overdue(),
            false => failure,
        };
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

    fn kill_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn next_timer(&self) -> Instant {
        let settled = self.exited.as_ref().map(|exited| exited.settled_at);
        let kill = self.kill_at.filter(|_| !self.killed);
        let deadline = Some(self.deadline).filter(|_| self.reason.is_none() && !self.killed);
        let lease = self.lease.filter(|_| !self.killed);
        let leaves = self.leaves_at.filter(|&at| at > Instant::now());
        let never = Instant::now() + FOREVER;
        [settled, kill, deadline, lease, leaves]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(never)
    }

    fn tick(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| at <= now) && !self.killed {
            // Packs are told their time one after the other: this one's may be up only now.
            if let Some(reason) = self.reason.take() {
                self.blame(reason);
            }
            self.killed = true;
            self.program.group.kill();
        } else if self.lease.is_some_and(|until| until <= now) && !self.killed {
            self.kill(Failure::new(FailureKind::InvokerLost, LAPSED));
        } else if self.deadline <= now && self.reason.is_none() {
            self.abort(Failure::overdue());
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

    /// Reports what is still to be reported. What becomes of the program, and the last lines.
    fn end(mut self) -> (Outcome, BytesMut) {
        for pipe in [&mut self.program.stdout, &mut self.program.stderr] {
            pipe.drain();
            pipe.finish();
        }
        self.log_output();
        if self.exited.is_some() && self.control_open {
            // It is not too late for what was said before the end and not looked at since.
            self.program.incoming.drain();
            self.read_frames();
        }
        self.journal.close();
        self.gather();
        let (failures, error, reusable) = match self.said.take() {
            Some((reusable, error)) => {
                let failures = self.tracker.forgotten();
                let forgotten = failures.first().map(|(_, failure)| failure.clone());
                let first = self.tracker.first_failure().cloned();
                let error = self.reason.take().or(first).or(error).or(forgotten);
                (failures, error, reusable)
            }
            None => {
                let (failures, error) = self.post_mortem();
                (failures, Some(error), false)
            }
        };
        for (worker, error) in failures {
            self.emit(&PackEvent::WorkerFailed {
                worker,
                error,
                at: now(),
            });
        }
        let reusable = reusable && error.is_none() && self.exited.is_none();
        self.emit(&PackEvent::PackEnded {
            reusable,
            error: error.clone(),
            at: now(),
        });
        let last = std::mem::take(&mut self.pending);
        if reusable {
            return (Outcome::Reusable(self.program), last);
        }
        self.program.group.kill();
        let unsaid = || "it said that it cannot be used again".to_owned();
        (
            Outcome::Spent(error.map_or_else(unsaid, |error| error.to_string())),
            last,
        )
    }

    /// Why the process ended, for each worker that had not, and for the pack.
    fn post_mortem(&mut self) -> (Vec<(u32, Failure)>, Failure) {
        if self.killed
            && let Some(reason) = &self.reason
        {
            return (self.tracker.killed(reason), reason.clone());
        }
        let (kind, how) = match self.leaving {
            true => (FailureKind::PackLost, STOPPED.to_owned()),
            false => self.how_it_died(),
        };
        let (failures, cause) = self.tracker.lost(kind, &how);
        (failures, self.reason.clone().unwrap_or(cause))
    }

    /// What ended the process. One that had announced its end and had to be helped along ended as
    /// it said: that it was killed is the runtime's own doing.
    fn how_it_died(&self) -> (FailureKind, String) {
        let status = self.exited.as_ref().and_then(|exited| exited.status);
        let announced = self.tracker.dying().map(|dying| dying.signal);
        let killed = status.and_then(|status| status.signal()) == Some(libc::SIGKILL);
        match announced {
            Some(Some(signal)) if self.killed && killed => {
                let said = ExitStatus::from_raw(signal);
                self.program.explain(Some(said), Some(signal))
            }
            Some(None) if self.killed && killed => (FailureKind::Exit, LINGERED.to_owned()),
            _ => self.program.explain(status, announced.flatten()),
        }
    }
}

/// The event of a frame, unless it is nested too deeply: whoever reads it next may do so by recursion. A worker whose
/// output is so fails.
fn shallow(frame: &[u8], event: ProgramEvent) -> Result<ProgramEvent, String> {
    // The output, within the event.
    if Depth::is_within(OUTPUT_DEPTH + 1, frame) {
        return Ok(event);
    }
    let ProgramEvent::Pack(PackEvent::WorkerSucceeded { worker, at, .. }) = event else {
        return Err("it sent an event that is nested too deeply".to_owned());
    };
    let mut error = Failure::new(FailureKind::Error, TOO_DEEP).in_operation("work");
    error.worker = Some(worker);
    Ok(ProgramEvent::Pack(PackEvent::WorkerFailed {
        worker,
        error,
        at,
    }))
}

/// How long an event may wait for others to leave with. A program may log and mark phases all the
/// time; each line by itself would cost whoever reads them more than the program's own work.
fn patience(event: &PackEvent) -> Duration {
    match event {
        PackEvent::Log { .. } | PackEvent::Phase { .. } => limits::GATHERING,
        _ => Duration::ZERO,
    }
}

const TOO_DEEP: &str = "the output is nested more than 256 levels deep as JSON";
const STOPPED: &str = "was told from outside to end";
const LINGERED: &str = "was ending the process, which took too long and was killed";
const LAPSED: &str = "the invoker was not heard of for so long that it counts as lost";
/// Longer than any flare.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

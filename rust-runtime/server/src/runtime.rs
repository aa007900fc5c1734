//! What this runtime is doing: nothing yet, waiting with a warm program, or running flares.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use burst_protocol::RunPack;
use bytes::Bytes;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout_at};

use crate::cleanup;
use crate::credential_broker::CredentialBroker;
use crate::environment::Environment;
use crate::error::Error;
use crate::inherited::PackSocket;
use crate::interpreter::Interpreter;
use crate::kind::Language;
use crate::lane::Lane;
use crate::lanes::Lanes;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::pack::{self, Completion, Order, Outcome};
use crate::package::Package;
use crate::process::ProcessGroup;
use crate::start::{self, StartError, StartFailure};
use crate::supervisor::Program;
use crate::suspension::Suspension;

/// The runtime, shared by all requests.
#[derive(Clone)]
pub(crate) struct Runtime {
    state: Arc<Mutex<State>>,
    broker: Arc<CredentialBroker>,
    socket: Option<PackSocket>,
    /// Notified when a flare has ended, and the pack may be clean.
    settled: Arc<Notify>,
}

enum State {
    /// There is no program yet; the one that is started uses these.
    Empty {
        environment: Environment,
        interpreter: Option<Interpreter>,
    },
    Starting,
    /// A program is up, and flares may run on it.
    Up {
        program: Arc<Program>,
        lanes: Lanes<Box<Lane>>,
    },
    NotReusable {
        reason: NotReusable,
        group: Arc<ProcessGroup>,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Empty {
            environment: Environment::default(),
            interpreter: None,
        }
    }
}

impl State {
    /// Returns why this flare cannot run here, whatever the outcome of a start that is under way.
    fn refusal(&self, run: &RunPack) -> Option<Error> {
        match self {
            Self::Up { program, lanes } => lanes.refusal(run, program.is_doomed()),
            Self::NotReusable { reason, .. } => Some(Error::Ended(reason.clone())),
            Self::Empty { .. } | Self::Starting => None,
        }
    }

    /// Kills a program that cannot run further flares, once none runs on it.
    fn retire_spent(&mut self) {
        if let Self::Up { program, lanes } = self
            && lanes.is_idle()
            && let Some(reason) = lanes.spent()
        {
            let (reason, group) = (reason.clone(), Arc::clone(&program.group));
            group.kill();
            *self = Self::NotReusable { reason, group };
        }
    }
}

impl Runtime {
    pub(crate) fn new(socket: Option<PackSocket>) -> Self {
        Self {
            state: Arc::default(),
            broker: Arc::default(),
            socket,
            settled: Arc::default(),
        }
    }

    /// Sets the environment variables of the program, before it is started.
    pub(crate) fn set_environment(&self, environment: Environment) -> Result<(), Error> {
        match &mut *self.state() {
            State::Empty {
                environment: there, ..
            } => {
                *there = environment;
                Ok(())
            }
            _ => Err(Error::AlreadyInitialized),
        }
    }

    /// Begins to start an interpreter for the program that will be started, unless there already is one.
    pub(crate) fn start_interpreter(&self, language: Language) -> Result<(), Error> {
        match &mut *self.state() {
            State::Empty {
                interpreter: there @ None,
                ..
            } => {
                let started = Interpreter::start(language, self.listener());
                *there = Some(started.map_err(|why| StartFailure::from(StartError::from(why)))?);
                Ok(())
            }
            _ => Err(Error::AlreadyInitialized),
        }
    }

    /// Starts a package's program, the only one this runtime ever runs. One that does not report within `patience` is
    /// given up.
    pub(crate) async fn init(&self, package: Package, patience: Duration) -> Result<(), Error> {
        let (environment, interpreter) = match &mut *self.state() {
            state @ State::Empty { .. } => match std::mem::replace(state, State::Starting) {
                State::Empty {
                    environment,
                    interpreter,
                } => (environment, interpreter),
                _ => (Environment::default(), None),
            },
            _ => return Err(Error::AlreadyInitialized),
        };
        // On a separate task: a caller that hangs up must not leave a half-started program.
        let runtime = self.clone();
        let listener = self.listener();
        let starting = tokio::spawn(async move {
            let started = start::start(package, environment, listener, interpreter, patience).await;
            let mut state = runtime.state();
            match started {
                Ok((program, lanes)) => {
                    let lanes = Lanes::new(lanes.into_iter().map(Box::new));
                    *state = State::Up { program, lanes };
                    Ok(())
                }
                Err(failure) => {
                    *state = State::default();
                    Err(failure.into())
                }
            }
        });
        let lost = |_| Err(Error::Interrupted("the start"));
        starting.await.unwrap_or_else(lost)
    }

    /// Returns the flare with the credentials that the program is issued. One that cannot run is rejected before the
    /// backend is asked: a group's user must not be changed while one of its flares runs.
    pub(crate) async fn issue_credentials(&self, run: RunPack) -> Result<RunPack, Error> {
        if let Some(error) = self.state().refusal(&run) {
            return Err(error);
        }
        if !CredentialBroker::asks(&run) {
            return self.broker.issue(run);
        }
        let broker = Arc::clone(&self.broker);
        let issuing = tokio::task::spawn_blocking(move || broker.issue(run));
        let lost = |_| Err(Error::Interrupted("the pack's admission"));
        issuing.await.unwrap_or_else(lost)
    }

    /// Runs a flare on the program that is up. Its events arrive on the channel as lines.
    pub(crate) async fn run(&self, mut run: RunPack) -> Result<mpsc::Receiver<Bytes>, Error> {
        run.check()?;
        if let Some(socket) = &self.socket {
            run.advertise = socket.endpoint();
        }
        let number = getrandom::u64().map_err(Error::NoNumber)?;
        let (orders, received) = mpsc::channel(4);
        let latest = Instant::now() + limits::ADMISSION;
        let (lane, alone) = admitted(&self.settled, latest, || self.admit(&run, &orders)).await?;
        // Only one chunk waits: what a slow client does not read stays with the program.
        let (events, stream) = mpsc::channel(1);
        let completion = FlareCompletion {
            runtime: self.clone(),
            flare_id: run.flare_id.clone(),
            grouped: run.group.is_some(),
        };
        tokio::spawn(pack::run(
            lane,
            alone,
            (number, run),
            received,
            events,
            completion,
        ));
        Ok(stream)
    }

    /// Returns a lane for this flare, and whether no other runs on the program; none while it has to wait for a
    /// clean-up.
    fn admit(
        &self,
        run: &RunPack,
        orders: &mpsc::Sender<Order>,
    ) -> Result<Option<(Box<Lane>, bool)>, Error> {
        let mut state = self.state();
        if let Some(error) = state.refusal(run) {
            return Err(error);
        }
        let State::Up { program, lanes } = &mut *state else {
            return Err(Error::NotInitialized);
        };
        if lanes.is_cleaning() {
            return Ok(None);
        }
        let ended = program.has_ended();
        let unusable = ended.or_else(|| lanes.next().and_then(|lane| lane.is_broken()));
        if let Some(reason) = unusable {
            // Flares that still run on it must not report that it can be used again.
            program.doom();
            lanes.spend(reason.clone());
            state.retire_spent();
            return Err(Error::Ended(reason));
        }
        program.limit_memory(run.memory)?;
        let alone = lanes.is_idle();
        let lane = lanes.take(run, orders.clone()).ok_or(Error::Busy)?;
        Ok(Some((lane, alone)))
    }

    /// Starts to suspend the program, on which no flare runs.
    fn keep(&self, program: &Program) {
        let mut suspension = Suspension::of(program);
        let runtime = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(limits::PAUSE).await;
            // The signal by which the kernel reports that the program has stopped or continued.
            let mut changes = signal(SignalKind::child()).ok();
            while runtime.suspend(&mut suspension) {
                let change = async {
                    match &mut changes {
                        Some(changes) => changes.recv().await,
                        None => std::future::pending().await,
                    }
                };
                let _ = tokio::time::timeout(suspension.next_check(), change).await;
            }
        });
    }

    /// Suspends an idle program. Returns whether it has to be observed again. No flare continues the program
    /// meanwhile, as it has to change the state first, which is locked here.
    fn suspend(&self, suspension: &mut Suspension) -> bool {
        let mut state = self.state();
        let State::Up { program, lanes } = &mut *state else {
            return false;
        };
        let idle = lanes.is_idle() && suspension.is_current(program);
        if !idle || program.group.number().is_none() {
            return false;
        }
        let Err(reason) = suspension.advance(program) else {
            return true;
        };
        cleanup::kill_all(program);
        lanes.spend(reason);
        state.retire_spent();
        false
    }

    /// Passes an order to a flare that runs here.
    pub(crate) async fn order(&self, flare_id: &str, order: Order) -> Result<(), Error> {
        let orders = match &*self.state() {
            State::Up { lanes, .. } => lanes.orders(flare_id).cloned(),
            _ => None,
        };
        let unknown = || Error::UnknownFlare(flare_id.to_owned());
        let sent = orders.ok_or_else(unknown)?.send(order).await;
        sent.map_err(|_| unknown())
    }

    /// Kills the program, if there is one, and waits for its end.
    pub(crate) async fn stop(&self) {
        let (group, interpreter) = match &mut *self.state() {
            State::Up { program, lanes } => {
                for orders in lanes.all_orders() {
                    // Otherwise its workers would be blamed. If the channel is full, somebody else is already ending
                    // it.
                    let _ = orders.try_send(Order::Leave);
                }
                (Some(Arc::clone(&program.group)), None)
            }
            State::NotReusable { group, .. } => (Some(Arc::clone(group)), None),
            State::Empty { interpreter, .. } => (None, interpreter.take()),
            State::Starting => (None, None),
        };
        if let Some(group) = group {
            group.end().await;
        }
        if let Some(interpreter) = interpreter {
            interpreter.end().await;
        }
    }

    fn listener(&self) -> Option<Arc<OwnedFd>> {
        (self.socket.as_ref()).map(|socket| Arc::clone(&socket.listener))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for a lane, and again each time that a flare has ended; the pack is busy if none is free by `latest`.
async fn admitted<L>(
    settled: &Notify,
    latest: Instant,
    ask: impl Fn() -> Result<Option<L>, Error>,
) -> Result<L, Error> {
    loop {
        // Made before asking, so that a notification in between is not missed.
        let gone = settled.notified();
        match ask()? {
            Some(lane) => return Ok(lane),
            None => timeout_at(latest, gone).await.map_err(|_| Error::Busy)?,
        }
    }
}

/// Records the end of a flare on this runtime's program.
struct FlareCompletion {
    runtime: Runtime,
    flare_id: String,
    grouped: bool,
}

impl Completion for FlareCompletion {
    fn leave(&self) -> bool {
        match &mut *self.runtime.state() {
            State::Up { lanes, .. } => lanes.leave(&self.flare_id),
            _ => false,
        }
    }

    fn settle(self, outcome: Outcome) {
        let runtime = &self.runtime;
        runtime.broker.revoke();
        let mut state = runtime.state();
        let State::Up { program, lanes } = &mut *state else {
            return;
        };
        let Outcome { lane, spent } = outcome;
        lanes.settle(&self.flare_id, lane.number, lane);
        spent.into_iter().for_each(|reason| lanes.spend(reason));
        // The program of a group is not stopped: the group pays for what it does between its flares.
        if lanes.is_idle() && lanes.spent().is_none() && !self.grouped {
            runtime.keep(program);
        }
        state.retire_spent();
        drop(state);
        runtime.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn a_lane_is_admitted_once_one_is_free_or_the_wait_times_out() {
        let (settled, asked) = (Notify::new(), Cell::new(0));
        let latest = Instant::now() + limits::ADMISSION;
        let second = admitted(&settled, latest, || {
            asked.set(asked.get() + 1);
            settled.notify_waiters();
            Ok((asked.get() == 2).then_some(asked.get()))
        });
        assert!(matches!(second.await, Ok(2)));
        let never = admitted(&settled, Instant::now(), || Ok(None::<()>));
        assert!(matches!(never.await, Err(Error::Busy)));
    }
}

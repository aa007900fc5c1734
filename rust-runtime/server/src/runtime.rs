//! What this runtime is doing: nothing yet, waiting with a warm program, or running a flare.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burst_protocol::RunPack;
use bytes::Bytes;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::cleanup;
use crate::credential_broker::CredentialBroker;
use crate::environment::Environment;
use crate::error::Error;
use crate::inherited::PackSocket;
use crate::limits;
use crate::not_reusable::NotReusable;
use crate::pack::{self, Order, Outcome};
use crate::package::Package;
use crate::process::ProcessGroup;
use crate::supervisor::{Program, StartFailure};
use crate::suspension::Suspension;

/// Shared by all requests.
#[derive(Clone)]
pub(crate) struct Runtime {
    state: Arc<Mutex<State>>,
    broker: Arc<CredentialBroker>,
    socket: Option<PackSocket>,
}

enum State {
    /// The program that is started first has this.
    Empty(Environment),
    Starting,
    Idle(Box<Program>),
    Busy {
        flare_id: String,
        orders: mpsc::Sender<Order>,
        group: Arc<ProcessGroup>,
    },
    NotReusable {
        reason: NotReusable,
        group: Arc<ProcessGroup>,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Empty(Environment::default())
    }
}

impl State {
    /// Why no flare can run here, whatever comes of a start that is under way.
    fn refusal(&self) -> Option<Error> {
        match self {
            Self::Busy { .. } => Some(Error::Busy),
            Self::NotReusable { reason, .. } => Some(Error::Ended(reason.clone())),
            Self::Empty(_) | Self::Starting | Self::Idle(_) => None,
        }
    }
}

impl Runtime {
    pub(crate) fn new(socket: Option<PackSocket>) -> Self {
        Self {
            state: Arc::default(),
            broker: Arc::default(),
            socket,
        }
    }

    /// Says which variables the program is to have, before it is started.
    pub(crate) fn set_environment(&self, environment: Environment) -> Result<(), Error> {
        match &mut *self.state() {
            State::Empty(there) => {
                *there = environment;
                Ok(())
            }
            _ => Err(Error::AlreadyInitialized),
        }
    }

    /// Starts a package's program, the only one this runtime ever runs.
    pub(crate) async fn init(&self, package: Package) -> Result<(), Error> {
        let environment = match &mut *self.state() {
            state @ State::Empty(_) => match std::mem::replace(state, State::Starting) {
                State::Empty(environment) => environment,
                _ => Environment::default(),
            },
            _ => return Err(Error::AlreadyInitialized),
        };
        // On a task of its own: a caller that hangs up must not leave a half-started program.
        let runtime = self.clone();
        let listener = (self.socket.as_ref()).map(|socket| Arc::clone(&socket.listener));
        let starting = tokio::spawn(async move {
            let started = Program::start(package, environment, listener).await;
            let mut state = runtime.state();
            match started {
                Ok(program) => {
                    *state = State::Idle(Box::new(program));
                    Ok(())
                }
                Err(StartFailure { reason, tail, said }) => {
                    *state = State::default();
                    Err(Error::StartFailed { reason, tail, said })
                }
            }
        });
        let lost = |_| Err(Error::Start("the start was interrupted".to_owned()));
        starting.await.unwrap_or_else(lost)
    }

    /// The flare as the program may know of it. Refused before the backend is asked where it cannot
    /// run: a group's user must not be moved on while one of its flares runs.
    pub(crate) async fn issue_credentials(&self, run: RunPack) -> Result<RunPack, Error> {
        if let Some(error) = self.state().refusal() {
            return Err(error);
        }
        let broker = Arc::clone(&self.broker);
        let issuing = tokio::task::spawn_blocking(move || broker.issue(run));
        let lost = |_| {
            Err(Error::Start(
                "the pack's admission was interrupted".to_owned(),
            ))
        };
        issuing.await.unwrap_or_else(lost)
    }

    /// Runs a flare on the warm program. Its events come out of the channel as lines.
    pub(crate) fn run(&self, mut run: RunPack) -> Result<mpsc::Receiver<Bytes>, Error> {
        run.check()?;
        if let Some(socket) = &self.socket {
            run.advertise = socket.endpoint();
        }
        let number = getrandom::u64()
            .map_err(|error| Error::Start(format!("no number for the run: {error}")))?;
        let mut state = self.state();
        let mut program = match std::mem::take(&mut *state) {
            State::Idle(program) => program,
            other => {
                let error = other.refusal().unwrap_or(Error::NotInitialized);
                *state = other;
                return Err(error);
            }
        };
        if let Some(reason) = program.has_ended() {
            let ended = reason.clone();
            let group = Arc::clone(&program.group);
            *state = State::NotReusable { reason, group };
            return Err(Error::Ended(ended));
        }
        if let Err(error) = program.limit_memory(run.memory) {
            *state = State::Idle(program);
            return Err(error.into());
        }
        let (orders, received) = mpsc::channel(4);
        // One chunk waits: what a slow client does not take stays with the program.
        let (events, stream) = mpsc::channel(1);
        let (flare_id, group) = (run.flare_id.clone(), Arc::clone(&program.group));
        let grouped = run.group.is_some();
        *state = State::Busy {
            flare_id,
            orders,
            group,
        };
        drop(state);
        let (runtime, process_group) = (self.clone(), Arc::clone(&program.group));
        let run = (number, run);
        tokio::spawn(pack::run(program, run, received, events, move |outcome| {
            runtime.broker.revoke();
            match outcome {
                Outcome::Reusable(program) => runtime.keep(program, grouped),
                Outcome::NotReusable(reason) => {
                    *runtime.state() = State::NotReusable {
                        reason,
                        group: process_group,
                    };
                }
            }
        }));
        Ok(stream)
    }

    /// The program waits for the next flare: soon at rest, unless it is that of a group, which pays for what it does.
    fn keep(&self, program: Box<Program>, grouped: bool) {
        let mut suspension = Suspension::of(&program);
        *self.state() = State::Idle(program);
        if grouped {
            return;
        }
        let runtime = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(limits::PAUSE).await;
            // By which the kernel tells that the program has stopped or goes on.
            let mut changes = signal(SignalKind::child()).ok();
            while runtime.suspend(&mut suspension) {
                let change = async {
                    match &mut changes {
                        Some(changes) => changes.recv().await,
                        None => std::future::pending().await,
                    }
                };
                let _ = tokio::time::timeout(suspension.next_look(), change).await;
            }
        });
    }

    /// Sees to it that an idle program rests. Whether it has to be looked at again. Nobody has it go on for its next
    /// flare meanwhile: for that it is taken out of the state first.
    fn suspend(&self, suspension: &mut Suspension) -> bool {
        let mut state = self.state();
        let State::Idle(program) = &mut *state else {
            return false;
        };
        if !suspension.is_current(program) || program.group.number().is_none() {
            return false;
        }
        let Err(reason) = suspension.advance(program) else {
            return true;
        };
        cleanup::kill_all(program);
        let group = Arc::clone(&program.group);
        *state = State::NotReusable { reason, group };
        false
    }

    /// Passes an order to a flare that runs here.
    pub(crate) async fn order(&self, flare_id: &str, order: Order) -> Result<(), Error> {
        let orders = match &*self.state() {
            State::Busy {
                flare_id: running,
                orders,
                ..
            } if running == flare_id => orders.clone(),
            _ => return Err(Error::UnknownFlare(flare_id.to_owned())),
        };
        orders
            .send(order)
            .await
            .map_err(|_| Error::UnknownFlare(flare_id.to_owned()))
    }

    /// Kills the program, if there is one, and waits until it is gone.
    pub(crate) async fn stop(&self) {
        let group = match &*self.state() {
            State::Idle(program) => Arc::clone(&program.group),
            State::Busy { orders, group, .. } => {
                // Or its workers would be blamed. With orders that wait, somebody else ends it already.
                let _ = orders.try_send(Order::Leave);
                Arc::clone(group)
            }
            State::NotReusable { group, .. } => Arc::clone(group),
            State::Empty(_) | State::Starting => return,
        };
        group.kill();
        // A process in the kernel's hands may take its time; the runtime's own end kills it too.
        let _ = tokio::time::timeout(limits::DYING, group.gone()).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

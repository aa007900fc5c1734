//! What this runtime is doing: nothing yet, waiting with a warm program, or running a flare.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burst_protocol::RunPack;
use bytes::Bytes;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::admission::Admissions;
use crate::error::Error;
use crate::limits;
use crate::pack::{self, Order, Outcome};
use crate::package::Package;
use crate::process::Group;
use crate::rest::{self, Pause};
use crate::spent::Spent;
use crate::supervisor::{Program, Stillborn};

/// Shared by all requests.
#[derive(Clone, Default)]
pub(crate) struct Runtime {
    slot: Arc<Mutex<Slot>>,
    admissions: Arc<Admissions>,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Starting,
    Idle(Box<Program>),
    Busy {
        flare_id: String,
        orders: mpsc::Sender<Order>,
        group: Arc<Group>,
    },
    Spent {
        reason: Spent,
        group: Arc<Group>,
    },
}

impl Slot {
    /// Why no flare can run here, whatever comes of a start that is under way.
    fn refusal(&self) -> Option<Error> {
        match self {
            Self::Busy { .. } => Some(Error::Busy),
            Self::Spent { reason, .. } => Some(Error::Ended(reason.clone())),
            Self::Empty | Self::Starting | Self::Idle(_) => None,
        }
    }
}

impl Runtime {
    /// Starts a package's program, the only one this runtime ever runs.
    pub(crate) async fn init(&self, package: Package) -> Result<(), Error> {
        {
            let mut slot = self.slot();
            if !matches!(*slot, Slot::Empty) {
                return Err(Error::AlreadyInitialized);
            }
            *slot = Slot::Starting;
        }
        // On a task of its own: a caller that hangs up must not leave a half-started program.
        let runtime = self.clone();
        let starting = tokio::spawn(async move {
            let started = Program::start(package).await;
            let mut slot = runtime.slot();
            match started {
                Ok(program) => {
                    *slot = Slot::Idle(Box::new(program));
                    Ok(())
                }
                Err(Stillborn { reason, tail, said }) => {
                    *slot = Slot::Empty;
                    Err(Error::Stillborn { reason, tail, said })
                }
            }
        });
        let lost = |_| Err(Error::Start("the start was interrupted".to_owned()));
        starting.await.unwrap_or_else(lost)
    }

    /// The flare as the program may know of it. Refused before the backend is asked where it cannot
    /// run: a group's user must not be moved on while one of its flares runs.
    pub(crate) async fn admit(&self, run: RunPack) -> Result<RunPack, Error> {
        if let Some(error) = self.slot().refusal() {
            return Err(error);
        }
        let admissions = Arc::clone(&self.admissions);
        let admitting = tokio::task::spawn_blocking(move || admissions.admit(run));
        let lost = |_| {
            Err(Error::Start(
                "the pack's admission was interrupted".to_owned(),
            ))
        };
        admitting.await.unwrap_or_else(lost)
    }

    /// Runs a flare on the warm program. Its events come out of the channel as lines.
    pub(crate) fn run(&self, run: RunPack) -> Result<mpsc::Receiver<Bytes>, Error> {
        run.check()?;
        let number = getrandom::u64()
            .map_err(|error| Error::Start(format!("no number for the run: {error}")))?;
        let mut slot = self.slot();
        let mut program = match std::mem::take(&mut *slot) {
            Slot::Idle(program) => program,
            other => {
                let error = other.refusal().unwrap_or(Error::NotInitialized);
                *slot = other;
                return Err(error);
            }
        };
        if let Some(spent) = program.has_ended() {
            let (reason, group) = (spent.clone(), Arc::clone(&program.group));
            *slot = Slot::Spent { reason, group };
            return Err(Error::Ended(spent));
        }
        if let Err(error) = program.allow(run.memory) {
            *slot = Slot::Idle(program);
            return Err(error.into());
        }
        let (orders, received) = mpsc::channel(4);
        // One chunk waits: what a slow client does not take stays with the program.
        let (events, stream) = mpsc::channel(1);
        let (flare_id, group) = (run.flare_id.clone(), Arc::clone(&program.group));
        let grouped = run.group.is_some();
        *slot = Slot::Busy {
            flare_id,
            orders,
            group,
        };
        drop(slot);
        let (runtime, spent) = (self.clone(), Arc::clone(&program.group));
        let run = (number, run);
        tokio::spawn(pack::run(program, run, received, events, move |outcome| {
            runtime.admissions.end();
            match outcome {
                Outcome::Reusable(program) => runtime.keep(program, grouped),
                Outcome::Spent(reason) => {
                    *runtime.slot() = Slot::Spent {
                        reason,
                        group: spent,
                    };
                }
            }
        }));
        Ok(stream)
    }

    /// The program waits for the next flare: soon at rest, unless it is that of a group, which pays for what it does.
    fn keep(&self, program: Box<Program>, grouped: bool) {
        let mut pause = Pause::of(&program);
        *self.slot() = Slot::Idle(program);
        if grouped {
            return;
        }
        let runtime = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(limits::PAUSE).await;
            // By which the kernel tells that the program has stopped or goes on.
            let mut turns = signal(SignalKind::child()).ok();
            while runtime.rests(&mut pause) {
                let turn = async {
                    match &mut turns {
                        Some(turns) => turns.recv().await,
                        None => std::future::pending().await,
                    }
                };
                let _ = tokio::time::timeout(pause.time(), turn).await;
            }
        });
    }

    /// Sees to it that an idle program rests. Whether it has to be looked at again. Nobody has it go on for its next
    /// flare meanwhile: for that it is taken out of the slot first.
    fn rests(&self, pause: &mut Pause) -> bool {
        let mut slot = self.slot();
        let Slot::Idle(program) = &mut *slot else {
            return false;
        };
        if !pause.lasts(program) || program.group.number().is_none() {
            return false;
        }
        let Err(reason) = pause.go_by(program) else {
            return true;
        };
        rest::put_down(program);
        let group = Arc::clone(&program.group);
        *slot = Slot::Spent { reason, group };
        false
    }

    /// Passes an order to a flare that runs here.
    pub(crate) async fn order(&self, flare_id: &str, order: Order) -> Result<(), Error> {
        let orders = match &*self.slot() {
            Slot::Busy {
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
        let group = match &*self.slot() {
            Slot::Idle(program) => Arc::clone(&program.group),
            Slot::Busy { orders, group, .. } => {
                // Or its workers would be blamed. With orders that wait, somebody else ends it already.
                let _ = orders.try_send(Order::Leave);
                Arc::clone(group)
            }
            Slot::Spent { group, .. } => Arc::clone(group),
            Slot::Empty | Slot::Starting => return,
        };
        group.kill();
        // A process in the kernel's hands may take its time; the runtime's own end kills it too.
        let _ = tokio::time::timeout(limits::DYING, group.gone()).await;
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! One flare in a deployed program: joins, waits for the start, runs the pack's workers, reports.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use burst_bcm::{Communicator, Connections, Failure, FailureKind, Pack, PackConfig, Topology};
use burst_protocol::{LogStream, PackEvent, RunPack, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::capture;
use crate::context::BurstContext;
use crate::control::Control;
use crate::data::Loads;
use crate::error;
use crate::pack::{Local, Report};
use crate::state::States;
use crate::worker::{self, Work};

/// Address space of a worker's stack, as large as a main thread's; memory is used as it is touched.
const STACK: usize = 8 * 1024 * 1024;

/// What the runtime said about the flare, from the thread that reads the control socket to the
/// one that runs the flare.
#[derive(Default)]
pub(crate) struct Signals {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
struct SignalState {
    endpoints: Option<Vec<String>>,
    aborted: Option<Failure>,
    local: Option<Arc<Local>>,
}

impl Signals {
    /// All packs are ready.
    pub(crate) fn start(&self, endpoints: Vec<String>) {
        self.lock().endpoints = Some(endpoints);
        self.changed.notify_all();
    }

    /// The flare is to end.
    pub(crate) fn abort(&self, failure: Failure) {
        let mut state = self.lock();
        state.aborted.get_or_insert(failure.clone());
        let local = state.local.clone();
        drop(state);
        self.changed.notify_all();
        if let Some(local) = local {
            local.abort(failure);
        }
    }

    fn attach(&self, local: &Arc<Local>) {
        self.lock().local = Some(Arc::clone(local));
    }

    /// Waits for the pack table, an abort, or the deadline.
    fn wait_for_start(&self, due: Instant) -> Result<Vec<String>, burst_bcm::Error> {
        let mut state = self.lock();
        loop {
            if let Some(failure) = &state.aborted {
                return Err(burst_bcm::Error::Aborted(failure.clone()));
            }
            if let Some(endpoints) = state.endpoints.take() {
                return Ok(endpoints);
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = "the flare's deadline passed before all packs were ready";
                let failure = Failure::new(FailureKind::Timeout, message);
                return Err(burst_bcm::Error::Aborted(failure));
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn aborted(&self) -> Option<Failure> {
        self.lock().aborted.clone()
    }

    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a flare leaves for the next one of its group.
pub(crate) struct Kept {
    group: String,
    states: Arc<States>,
    /// Those to the other packs.
    connections: Option<Connections>,
}

impl Kept {
    /// Whether it is for this flare.
    fn is_for(&self, run: &RunPack) -> bool {
        run.group.as_ref() == Some(&self.group) && self.states.size() == run.pack_size()
    }
}

/// Runs one flare from joining to `pack-ended`, with what the last one has `kept` if both are of
/// one group. What is left for the next.
pub(crate) fn run<I, O>(
    work: &impl Work<I, O>,
    run: &RunPack,
    signals: &Signals,
    control: &Arc<Control>,
    kept: Option<Kept>,
) -> Option<Kept>
where
    I: DeserializeOwned,
    O: Serialize,
{
    let kept = kept.filter(|kept| kept.is_for(run));
    let (states, connections) = match kept {
        Some(kept) => (kept.states, kept.connections),
        None => (States::new(run.pack_size()), None),
    };
    let flare = Flare {
        run,
        signals,
        control,
        first: OnceLock::new(),
        states,
    };
    let (local, communicators) = match flare.join(connections) {
        Ok(joined) => joined,
        Err(error) => {
            flare.end_unstarted(&error);
            return None;
        }
    };
    flare.run_workers(work, &local, communicators);
    // Takes leave of the other packs before anyone is told that this one has ended.
    let connections = match &run.group {
        Some(_) => local.pack.leave(),
        None => None,
    };
    local.pack.close();
    flare.end();
    // What a failed flare left cannot be trusted; the pack is of no use any more either.
    let well = flare.failure().is_none();
    let Flare { run, states, .. } = flare;
    let group = run.group.clone().filter(|_| well);
    group.map(|group| Kept {
        group,
        states,
        connections,
    })
}

struct Flare<'a> {
    run: &'a RunPack,
    signals: &'a Signals,
    control: &'a Arc<Control>,
    /// The first failure in this pack.
    first: OnceLock<Failure>,
    states: Arc<States>,
}

impl Flare<'_> {
    /// Joins the flare, over the connections of the last one of its group.
    fn join(
        &self,
        connections: Option<Connections>,
    ) -> Result<(Arc<Local>, Vec<Communicator>), burst_bcm::Error> {
        let due = self.run.deadline.due();
        let topology = Topology::new(&self.run.pack_sizes)?;
        let mut config = PackConfig::new(self.run.flare_id.as_str(), self.run.pack, topology);
        config.backend = self.run.backend.clone();
        config.secret = self.run.secret.clone();
        config.advertise = self.run.advertise.clone();
        config.deadline = Some(self.run.deadline.into());
        let pack = Pack::join_over(connections, config)?;
        let endpoint = pack.endpoint();
        let local = Arc::new(Local {
            first_worker: self.run.first_worker(),
            deadline: self.run.deadline.into(),
            due,
            report: Arc::new(Reports {
                control: Arc::clone(self.control),
            }),
            loads: Loads::default(),
            states: Arc::clone(&self.states),
            pack,
        });
        self.signals.attach(&local);
        self.event(&PackEvent::Ready {
            endpoint: endpoint.clone(),
            at: Timestamp::now(),
        });
        let endpoints = if self.run.autostart {
            endpoint.into_iter().collect()
        } else {
            self.signals.wait_for_start(local.due)?
        };
        local.pack.start(endpoints)?;
        let communicators = local.pack.communicators();
        // An abort from before `attach` reached only the signals.
        match self.signals.aborted() {
            Some(failure) => Err(burst_bcm::Error::Aborted(failure)),
            None => Ok((local, communicators)),
        }
    }

    fn run_workers<I, O>(
        &self,
        work: &impl Work<I, O>,
        local: &Arc<Local>,
        communicators: Vec<Communicator>,
    ) where
        I: DeserializeOwned,
        O: Serialize,
    {
        thread::scope(|scope| {
            // All threads are on their way before the first event leaves, in one write.
            let _hold = self.control.hold();
            for (index, communicator) in communicators.into_iter().enumerate() {
                let worker = communicator.worker_id();
                let burst = BurstContext::new(communicator, Arc::clone(local));
                let thread = thread::Builder::new().name(format!("worker-{worker}"));
                let spawned = thread.stack_size(STACK).spawn_scoped(scope, move || {
                    self.run_worker(work, index, burst);
                });
                if let Err(error) = spawned {
                    let message = format!("cannot start a thread for the worker: {error}");
                    let failure = Failure::new(FailureKind::StartFailed, message);
                    self.fail(local, worker, failure.of_worker(worker, self.run.pack));
                }
            }
        });
    }

    fn run_worker<I, O>(&self, work: &impl Work<I, O>, index: usize, burst: BurstContext)
    where
        I: DeserializeOwned,
        O: Serialize,
    {
        let (worker, local) = (burst.worker_id(), Arc::clone(&burst.local));
        let result = {
            let _capture = capture::begin(Arc::clone(self.control), worker);
            self.output_frame(work, index, &burst)
        };
        // Its mailbox goes before the result is known, so that nothing outlives the flare.
        drop(burst);
        match result {
            Ok(frame) => self.control.send(&frame),
            Err(failure) => self.fail(&local, worker, failure),
        }
    }

    /// Runs the work function; its output comes back inside its `worker-succeeded` event.
    fn output_frame<I, O>(
        &self,
        work: &impl Work<I, O>,
        index: usize,
        burst: &BurstContext,
    ) -> Result<Vec<u8>, Failure>
    where
        I: DeserializeOwned,
        O: Serialize,
    {
        let worker = burst.worker_id();
        let missing = || Failure::new(FailureKind::Internal, "no input was sent for this worker");
        let input = self.run.inputs.of(index).ok_or_else(missing)?;
        let input = worker::read_input(input, burst)?;
        self.event(&PackEvent::WorkerStarted {
            worker,
            at: Timestamp::now(),
        });
        worker::call(work, input, burst, |output| {
            let run = self.control.run();
            let mut frame =
                format!(r#"{{"event":"worker-succeeded","run":{run},"worker":{worker},"output":"#)
                    .into_bytes();
            worker::write_output(&output, burst, &mut frame)?;
            frame.extend_from_slice(
                format!(r#","at":{}}}"#, Timestamp::now().as_micros()).as_bytes(),
            );
            Ok(frame)
        })
    }

    /// Reports a failed worker, then ends what its peers wait for: in this order, so that the
    /// first failure is also the first reported.
    fn fail(&self, local: &Local, worker: u32, failure: Failure) {
        let _ = self.first.set(failure.clone());
        self.event(&PackEvent::WorkerFailed {
            worker,
            error: failure.clone(),
            at: Timestamp::now(),
        });
        local.abort(failure);
    }

    /// Reports a pack whose workers never started.
    fn end_unstarted(&self, error: &burst_bcm::Error) {
        let pack = self.run.pack;
        let _ = self.first.set(match error {
            burst_bcm::Error::Aborted(failure) => failure.clone(),
            other => other.to_failure(None, Some(pack)),
        });
        let _hold = self.control.hold();
        let first = self.run.first_worker();
        for worker in first..first + self.run.pack_size() {
            let mut error = error::failure_of(error, worker, pack);
            error.operation.get_or_insert_with(|| "start".to_owned());
            self.event(&PackEvent::WorkerFailed {
                worker,
                error,
                at: Timestamp::now(),
            });
        }
        self.end();
    }

    fn end(&self) {
        let error = self.failure();
        self.event(&PackEvent::PackEnded {
            reusable: error.is_none(),
            error,
            at: Timestamp::now(),
        });
    }

    fn failure(&self) -> Option<Failure> {
        self.first.get().cloned().or_else(|| self.signals.aborted())
    }

    fn event(&self, event: &PackEvent) {
        self.control.say(event);
    }
}

struct Reports {
    control: Arc<Control>,
}

impl Report for Reports {
    fn phase(&self, worker: u32, name: &str) {
        let event = PackEvent::Phase {
            worker,
            name: name.to_owned(),
            at: Timestamp::now(),
        };
        self.control.say_later(&event);
    }

    fn log(&self, worker: u32, text: &str) {
        // On the worker's own thread the line keeps its place among printed ones, and counts
        // towards the same limit.
        if capture::current_worker() == Some(worker) {
            println!("{text}");
        } else {
            for line in text.lines() {
                self.control
                    .log(worker, LogStream::Stdout, line.as_bytes(), Timestamp::now());
            }
        }
    }
}

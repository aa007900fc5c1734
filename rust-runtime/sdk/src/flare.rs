//! One flare in a deployed program: joins it, waits for the start, runs the pack's workers, and reports.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use burst_bcm::{Communicator, Connections, Failure, FailureKind, Pack, PackConfig, Topology};
use burst_protocol::{LogStream, PackEvent, RunPack, Timestamp, Traffic};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::capture;
use crate::context::BurstContext;
use crate::control_socket::ControlSocket;
use crate::data::Loads;
use crate::error;
use crate::inherited::Inherited;
use crate::pack::{PackContext, Report};
use crate::state::WorkerStates;
use crate::worker::{self, Work};
use crate::worker_threads::WorkerThreads;

/// How long workers' events, except failures, are held back for the end of their flare.
const SHORT: Duration = Duration::from_millis(10);

/// The runtime's commands about the flare, passed from the thread that reads the control socket to the one that runs
/// the flare.
#[derive(Default)]
pub(crate) struct FlareCommands {
    state: Mutex<CommandState>,
    changed: Condvar,
}

#[derive(Default)]
struct CommandState {
    endpoints: Option<Vec<String>>,
    aborted: Option<Failure>,
    pack_context: Option<Arc<PackContext>>,
}

impl FlareCommands {
    /// Starts the flare: all packs are ready.
    pub(crate) fn start(&self, endpoints: Vec<String>) {
        self.lock().endpoints = Some(endpoints);
        self.changed.notify_all();
    }

    /// Aborts the flare.
    pub(crate) fn abort(&self, failure: Failure) {
        let mut state = self.lock();
        state.aborted.get_or_insert(failure.clone());
        let pack_context = state.pack_context.clone();
        drop(state);
        self.changed.notify_all();
        if let Some(pack_context) = pack_context {
            pack_context.abort(failure);
        }
    }

    fn attach(&self, pack_context: &Arc<PackContext>) {
        self.lock().pack_context = Some(Arc::clone(pack_context));
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

    fn lock(&self) -> MutexGuard<'_, CommandState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that a flare leaves for the next one of its group.
pub(crate) struct GroupState {
    group: String,
    states: Arc<WorkerStates>,
    /// The connections to the other packs.
    connections: Option<Connections>,
}

impl GroupState {
    /// Whether the state is for this flare.
    fn is_for(&self, run: &RunPack) -> bool {
        run.group.as_ref() == Some(&self.group) && self.states.size() == run.pack_size()
    }
}

/// Runs one flare from joining to `pack-ended`, with the `group_state` of the previous flare if both belong to the same
/// group. Returns the state for the next flare.
pub(crate) fn run<'scope, I, O>(
    work: &'scope impl Work<I, O>,
    run: Box<RunPack>,
    commands: Arc<FlareCommands>,
    inherited: &Inherited,
    threads: &mut WorkerThreads<'scope, '_>,
    group_state: Option<GroupState>,
) -> Option<GroupState>
where
    I: DeserializeOwned,
    O: Serialize,
{
    let group_state = group_state.filter(|group_state| group_state.is_for(&run));
    let (states, connections) = match group_state {
        Some(group_state) => (group_state.states, group_state.connections),
        None => (WorkerStates::new(run.pack_size()), None),
    };
    let flare = Arc::new(PackRun {
        run,
        commands,
        control: Arc::clone(&inherited.control),
        listener: inherited.listener.clone(),
        first: OnceLock::new(),
        states,
    });
    let (pack_context, communicators) = match flare.join(connections) {
        Ok(joined) => joined,
        Err(error) => {
            flare.end_unstarted(&error);
            return None;
        }
    };
    // The events of a short flare leave in one write: each write wakes the runtime, which then writes as well.
    let cork = flare.control.cork();
    flare.start_workers(work, &pack_context, communicators, threads);
    let is_short = threads.wait(SHORT);
    let cork = Some(cork).filter(|_| is_short && flare.is_alone());
    threads.join();
    // Says goodbye to the other packs before the end of this one is reported.
    let connections = match &flare.run.group {
        Some(_) => pack_context.pack.leave(),
        None => None,
    };
    pack_context.pack.close();
    flare.end(traffic(&pack_context.pack));
    drop(cork);
    // The state of a failed flare cannot be trusted; its pack is not used again either.
    let well = flare.failure().is_none();
    let group = flare.run.group.clone().filter(|_| well);
    group.map(|group| GroupState {
        group,
        states: Arc::clone(&flare.states),
        connections,
    })
}

/// Returns `None` if the pack has sent nothing, as in a flare of one pack.
fn traffic(pack: &Pack) -> Option<Traffic> {
    let counted = pack.traffic();
    (counted.messages_sent > 0).then_some(Traffic {
        messages: counted.messages_sent,
        bytes: counted.bytes_sent,
    })
}

struct PackRun {
    run: Box<RunPack>,
    commands: Arc<FlareCommands>,
    control: Arc<ControlSocket>,
    listener: Option<Arc<OwnedFd>>,
    /// The first failure in this pack.
    first: OnceLock<Failure>,
    states: Arc<WorkerStates>,
}

impl PackRun {
    /// Joins the flare, over the connections of its group's previous flare if there are any.
    fn join(
        &self,
        connections: Option<Connections>,
    ) -> Result<(Arc<PackContext>, Vec<Communicator>), burst_bcm::Error> {
        let due = self.run.deadline.due();
        let topology = Topology::new(&self.run.pack_sizes)?;
        let pack = self.run.pack;
        let mut config = PackConfig::new(self.run.flare_id.as_str(), pack, topology);
        config.backend = self.run.backend.clone();
        config.secret = self.run.secret.clone();
        config.advertise = self.run.advertise.clone();
        config.listener = self.listener.clone();
        config.deadline = Some(self.run.deadline.into());
        let pack = Pack::join_over(connections, config)?;
        let endpoint = pack.endpoint();
        let pack_context = Arc::new(PackContext {
            first_worker: self.run.first_worker(),
            deadline: self.run.deadline.into(),
            due,
            report: Arc::new(Reports {
                control: Arc::clone(&self.control),
            }),
            loads: Loads::default(),
            states: Arc::clone(&self.states),
            pack,
            trace: self.run.trace.clone(),
        });
        self.commands.attach(&pack_context);
        self.event(&PackEvent::Ready {
            endpoint: endpoint.clone(),
            at: Timestamp::now(),
        });
        let endpoints = if self.run.autostart {
            endpoint.into_iter().collect()
        } else {
            self.commands.wait_for_start(pack_context.due)?
        };
        pack_context.pack.start(endpoints)?;
        let communicators = pack_context.pack.communicators();
        // An abort before `attach` has reached only the commands.
        match self.commands.aborted() {
            Some(failure) => Err(burst_bcm::Error::Aborted(failure)),
            None => Ok((pack_context, communicators)),
        }
    }

    fn start_workers<'scope, I, O>(
        self: &Arc<Self>,
        work: &'scope impl Work<I, O>,
        pack_context: &Arc<PackContext>,
        communicators: Vec<Communicator>,
        threads: &mut WorkerThreads<'scope, '_>,
    ) where
        I: DeserializeOwned,
        O: Serialize,
    {
        threads.begin(self.run.workers());
        for (index, communicator) in communicators.into_iter().enumerate() {
            let worker = communicator.worker_id();
            let burst = BurstContext::new(communicator, Arc::clone(pack_context));
            let flare = Arc::clone(self);
            let begun = threads.run(worker, move || flare.run_worker(work, index, burst));
            if let Err(error) = begun {
                let message = format!("cannot start a thread for the worker: {error}");
                let failure = Failure::new(FailureKind::StartFailed, message);
                self.fail(
                    pack_context,
                    worker,
                    failure.of_worker(worker, self.run.pack),
                );
            }
        }
    }

    fn run_worker<I, O>(&self, work: &impl Work<I, O>, index: usize, burst: BurstContext)
    where
        I: DeserializeOwned,
        O: Serialize,
    {
        let (worker, pack_context) = (burst.worker_id(), Arc::clone(&burst.pack_context));
        let result = {
            let control = Arc::clone(&self.control);
            let _capture = capture::begin(control, worker, self.run.log_limit());
            self.output_frame(work, index, &burst)
        };
        // The mailbox is dropped before the result is known, so that nothing outlives the flare.
        drop(burst);
        match result {
            Ok(frame) => self.control.send(&frame),
            Err(failure) => self.fail(&pack_context, worker, failure),
        }
    }

    /// Runs the work function; returns its output inside the `worker-succeeded` event.
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

    /// Reports a failed worker, then ends its peers' waits: in this order, so that the first failure is also the first
    /// one reported.
    fn fail(&self, pack_context: &PackContext, worker: u32, failure: Failure) {
        let _ = self.first.set(failure.clone());
        self.event(&PackEvent::WorkerFailed {
            worker,
            error: failure.clone(),
            at: Timestamp::now(),
        });
        self.control.uncork();
        pack_context.abort(failure);
    }

    /// Reports a pack whose workers never started.
    fn end_unstarted(&self, error: &burst_bcm::Error) {
        let pack = self.run.pack;
        let _ = self.first.set(match error {
            burst_bcm::Error::Aborted(failure) => failure.clone(),
            other => other.to_failure(None, Some(pack)),
        });
        let _cork = self.control.cork();
        for worker in self.run.workers() {
            let mut error = error::failure_of(error, worker, pack);
            error.operation.get_or_insert_with(|| "start".to_owned());
            self.event(&PackEvent::WorkerFailed {
                worker,
                error,
                at: Timestamp::now(),
            });
        }
        self.end(None);
    }

    fn end(&self, traffic: Option<Traffic>) {
        let error = self.failure();
        self.event(&PackEvent::PackEnded {
            reusable: error.is_none(),
            error,
            at: Timestamp::now(),
            traffic,
        });
    }

    fn failure(&self) -> Option<Failure> {
        self.first
            .get()
            .cloned()
            .or_else(|| self.commands.aborted())
    }

    /// Whether this is the only pack: no other one would wait for its events.
    fn is_alone(&self) -> bool {
        self.run.pack_sizes.len() == 1
    }

    fn event(&self, event: &PackEvent) {
        self.control.send_event(event);
    }
}

struct Reports {
    control: Arc<ControlSocket>,
}

impl Report for Reports {
    fn phase(&self, worker: u32, name: &str) {
        let event = PackEvent::Phase {
            worker,
            name: name.to_owned(),
            at: Timestamp::now(),
        };
        self.control.send_event_later(&event);
    }

    fn log(&self, worker: u32, text: &str) {
        // On the worker's own thread the line keeps its order among printed ones, and counts
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

//! The faults that a cluster can have, and how each is repaired.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::{Cluster, node, wait};

/// A fault and its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of the runtime of this invoker's busiest pack, if any pack has workers.
    Pack(usize),
    /// `kill -9` and a restart.
    Invoker(usize),
    /// The invoker is paused for this long.
    PausedInvoker(usize, Duration),
    /// All traffic to and from the invoker is dropped for this long.
    Partition(usize, Duration),
    /// `kill -9` of the controller that runs the scheduler, and a restart.
    Scheduler,
    /// The controller that runs the scheduler is paused until another has taken over. Being excluded from the cluster,
    /// it ends, and is restarted.
    PausedScheduler,
    /// `kill -9` of a controller that does not run the scheduler, and a restart.
    OtherController,
    /// `kill -9` of all controllers, and a restart.
    Controllers,
    /// `kill -9` of PostgreSQL, and a restart after this long.
    Database(Duration),
}

impl Fault {
    /// Applies the fault, repairs it, and waits until all nodes are up and know each other; a controller that ends by
    /// itself in the meantime is restarted.
    #[track_caller]
    pub fn strike(self, cluster: &mut Cluster) {
        println!("{self:?}");
        match self {
            Self::Pack(invoker) => {
                let runtime = cluster.busiest_runtime(invoker);
                println!("{runtime:?}");
                if let Some(runtime) = runtime {
                    node::kill(runtime.pid);
                }
            }
            Self::Invoker(index) => {
                cluster.kill_invoker(index);
                cluster.start_invoker(index);
            }
            Self::PausedInvoker(index, time) => {
                cluster.signal_invoker(index, Signal::STOP);
                lasts(time);
                cluster.signal_invoker(index, Signal::CONT);
            }
            Self::Partition(index, time) => {
                cluster.cable(index).cut();
                lasts(time);
                cluster.cable(index).mend();
            }
            Self::Scheduler => restart(cluster, &[cluster.scheduler()]),
            Self::PausedScheduler => {
                let paused = cluster.scheduler();
                cluster.signal_controller(paused, Signal::STOP);
                wait::until(
                    "another controller has the scheduler",
                    node::START_LIMIT,
                    || (cluster.scheduler() != paused).then_some(()),
                );
                cluster.signal_controller(paused, Signal::CONT);
                cluster.controller_ended(paused);
                cluster.start_controllers(&[paused]);
            }
            Self::OtherController => {
                let scheduler = cluster.scheduler();
                let others = 0..cluster.apis().len();
                let others: Vec<usize> = others.filter(|index| *index != scheduler).collect();
                restart(cluster, &others);
            }
            Self::Controllers => {
                let all: Vec<usize> = (0..cluster.apis().len()).collect();
                restart(cluster, &all);
            }
            Self::Database(time) => {
                cluster.postgres().kill();
                lasts(time);
                cluster.postgres().start_again();
            }
        }
        cluster.all_up_again();
    }
}

fn restart(cluster: &mut Cluster, controllers: &[usize]) {
    for index in controllers {
        cluster.kill_controller(*index);
    }
    cluster.start_controllers(controllers);
}

/// Sleeps for the length of a fault, which is part of the fault; nothing is synchronised by it.
fn lasts(time: Duration) {
    thread::sleep(time);
}

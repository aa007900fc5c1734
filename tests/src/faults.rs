//! What can break in a cluster, and how it is mended.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::{Cluster, node, wait};

/// A fault, with what it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of the runtime of this invoker's pack with the most workers, if any has some.
    Pack(usize),
    /// `kill -9`, and a new start.
    Invoker(usize),
    /// It stands still for so many seconds.
    PausedInvoker(usize, u64),
    /// Nothing reaches the invoker, and nothing comes from it, for so many seconds.
    Partition(usize, u64),
    /// `kill -9` of the controller that has the scheduler, and a new start.
    Scheduler,
    /// The controller that has the scheduler stands still until another has it. Excluded, it ends, and is
    /// started anew.
    PausedScheduler,
    /// `kill -9` of a controller that has not, and a new start.
    OtherController,
    /// `kill -9` of all controllers, and a new start.
    Controllers,
    /// `kill -9` of PostgreSQL, and a new start after so many seconds.
    Database(u64),
}

impl Fault {
    /// Breaks it, mends it, and waits until all nodes are up and known to each other; a controller that ends by itself
    /// meanwhile is started again.
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
            Self::PausedInvoker(index, seconds) => {
                cluster.signal_invoker(index, Signal::STOP);
                lasts(seconds);
                cluster.signal_invoker(index, Signal::CONT);
            }
            Self::Partition(index, seconds) => {
                cluster.cable(index).cut();
                lasts(seconds);
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
            Self::Database(seconds) => {
                cluster.postgres().kill();
                lasts(seconds);
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

/// The length of a fault is part of it, nothing is synchronised by it.
fn lasts(seconds: u64) {
    thread::sleep(Duration::from_secs(seconds));
}

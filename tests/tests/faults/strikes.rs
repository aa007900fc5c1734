//! The faults, how long each lasts, and how it is repaired.

use std::thread;
use std::time::Duration;

use burst_tests::{Cluster, node};
use rustix::process::Signal;

use crate::REMOTE;

/// Repairs a fault.
pub(crate) type Mend = Box<dyn FnOnce(&mut Cluster)>;

/// A fault.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The backend that carries the messages of its flares.
    pub(crate) backend: &'static str,
    strike: fn(&mut Cluster) -> Mend,
}

impl Case {
    /// Applies the fault.
    pub(crate) fn strike(&self, cluster: &mut Cluster) -> Mend {
        (self.strike)(cluster)
    }

    fn new(name: &'static str, strike: fn(&mut Cluster) -> Mend) -> Self {
        Self {
            name,
            backend: "direct",
            strike,
        }
    }
}

/// All faults, preceded by a case without one.
pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("nothing", |_| Box::new(|_| ())),
        Case::new(
            "the scheduler's controller is killed, and started again",
            |cluster| {
                let scheduler = cluster.scheduler();
                killed(cluster, scheduler)
            },
        ),
        Case::new(
            "the scheduler's controller is stopped in good order, and started again",
            |cluster| {
                let scheduler = cluster.scheduler();
                cluster.signal_controller(scheduler, Signal::TERM);
                Box::new(move |cluster| {
                    cluster.stop_controller(scheduler);
                    cluster.start_controllers(&[scheduler]);
                })
            },
        ),
        Case::new(
            "the other controller is killed, and started again",
            |cluster| {
                let other = 1 - cluster.scheduler();
                killed(cluster, other)
            },
        ),
        Case::new(
            "the scheduler's controller stands still for 20 s",
            |cluster| {
                let scheduler = cluster.scheduler();
                cluster.signal_controller(scheduler, Signal::STOP);
                lasting(20, move |cluster| {
                    cluster.signal_controller(scheduler, Signal::CONT)
                })
            },
        ),
        Case::new("an invoker is killed, and started again", |cluster| {
            cluster.kill_invoker(REMOTE);
            Box::new(|cluster| cluster.start_invoker(REMOTE))
        }),
        Case::new(
            "an invoker is stopped in good order, and started again",
            |cluster| {
                cluster.signal_invoker(REMOTE, Signal::TERM);
                Box::new(|cluster| {
                    cluster.stop_invoker(REMOTE);
                    cluster.start_invoker(REMOTE);
                })
            },
        ),
        Case::new("an invoker stands still for 20 s", |cluster| {
            cluster.signal_invoker(REMOTE, Signal::STOP);
            lasting(20, |cluster| cluster.signal_invoker(REMOTE, Signal::CONT))
        }),
        Case::new("the programs of an invoker's packs are killed", |cluster| {
            for program in cluster.working(REMOTE) {
                node::kill(program.pid);
            }
            Box::new(|_| ())
        }),
        Case::new("the network to an invoker is cut for 10 s", |cluster| {
            cut(cluster, 10)
        }),
        Case::new("the network to an invoker is cut for 40 s", |cluster| {
            cut(cluster, 40)
        }),
        Case::new("the database is away for 10 s", |cluster| {
            cluster.postgres().kill();
            lasting(10, |cluster| cluster.postgres().start_again())
        }),
        Case::new("the database is killed, and started again", |cluster| {
            cluster.postgres().kill();
            Box::new(|cluster| cluster.postgres().start_again())
        }),
        Case::new("the bucket does not answer for 10 s", |cluster| {
            cluster.bucket().signal(Signal::STOP);
            lasting(10, |cluster| cluster.bucket().signal(Signal::CONT))
        }),
        Case {
            backend: "redis-list",
            ..Case::new(
                "Redis, their backend, is killed, and started again",
                |cluster| {
                    cluster.redis().restart();
                    Box::new(|_| ())
                },
            )
        },
    ]
}

fn killed(cluster: &mut Cluster, controller: usize) -> Mend {
    cluster.kill_controller(controller);
    Box::new(move |cluster| cluster.start_controllers(&[controller]))
}

fn cut(cluster: &Cluster, seconds: u64) -> Mend {
    cluster.cable(REMOTE).cut();
    lasting(seconds, |cluster| cluster.cable(REMOTE).mend())
}

/// A repair after the length of the fault, which is part of the fault; nothing is synchronised by
/// it.
fn lasting(seconds: u64, mend: impl FnOnce(&mut Cluster) + 'static) -> Mend {
    Box::new(move |cluster| {
        thread::sleep(Duration::from_secs(seconds));
        mend(cluster);
    })
}

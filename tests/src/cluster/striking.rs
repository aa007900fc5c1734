//! Faults and operations that a test applies to the nodes of a cluster.

use std::path::PathBuf;

use rustix::process::Signal;

use super::Cluster;
use crate::network::Partition;
use crate::{Postgres, Redis, S3Process};
use crate::{node, wait};

impl Cluster {
    /// Starts nodes from this distribution from now on; if none, from the one under test.
    pub fn set_distribution(&mut self, distribution: Option<PathBuf>) {
        for member in self.controllers.iter_mut().chain(&mut self.invokers) {
            member.distribution.clone_from(&distribution);
        }
    }

    /// Kills an invoker as `kill -9` does.
    pub fn kill_invoker(&mut self, index: usize) {
        self.invokers[index].take().kill();
    }

    /// Stops an invoker as an operator does.
    #[track_caller]
    pub fn stop_invoker(&mut self, index: usize) {
        let invoker = &mut self.invokers[index];
        let status = invoker.take().terminate();
        node::assert_clean_exit(&invoker.name, status);
    }

    /// Starts an invoker again on its old data.
    #[track_caller]
    pub fn start_invoker(&mut self, index: usize) {
        let (token, limit) = (&self.token, self.setup.limit);
        self.invokers[index].spawn(token, limit);
        self.invokers[index].await_ready();
    }

    /// Kills a controller as `kill -9` does.
    pub fn kill_controller(&mut self, index: usize) {
        self.controllers[index].take().kill();
    }

    /// Stops a controller as an operator does.
    #[track_caller]
    pub fn stop_controller(&mut self, index: usize) {
        let controller = &mut self.controllers[index];
        let status = controller.take().terminate();
        node::assert_clean_exit(&controller.name, status);
    }

    /// Starts controllers again on their old data, together.
    #[track_caller]
    pub fn start_controllers(&mut self, indices: &[usize]) {
        indices
            .iter()
            .for_each(|index| self.begin_controller(*index));
        indices
            .iter()
            .for_each(|index| self.await_controller(*index));
    }

    /// Starts a controller again on its old data, without waiting until it is ready.
    #[track_caller]
    pub fn begin_controller(&mut self, index: usize) {
        self.controllers[index].spawn(&self.token, self.setup.limit);
    }

    /// Waits until a controller that was started is ready. While it comes up on a busy machine the others may consider
    /// it lost: it then ends, and is started again, as its unit would do.
    #[track_caller]
    pub fn await_controller(&mut self, index: usize) {
        for _ in 0..2 {
            if !self.controllers[index].is_left_behind() {
                return;
            }
            self.begin_controller(index);
        }
        self.controllers[index].await_ready();
    }

    /// Sends an invoker's process a signal.
    pub fn signal_invoker(&self, index: usize, signal: Signal) {
        self.invokers[index].node.as_ref().unwrap().signal(signal);
    }

    /// Sends a controller's process a signal.
    pub fn signal_controller(&self, index: usize, signal: Signal) {
        let node = self.controllers[index].node.as_ref();
        node.unwrap().signal(signal);
    }

    /// Sets the clock of an invoker this many seconds ahead, in a cluster with [`clocks`](super::Setup::clocks).
    pub fn set_invoker_clock(&self, index: usize, ahead: i64) {
        self.invokers[index].clock.as_ref().unwrap().set(ahead);
    }

    /// Like [`set_invoker_clock`](Self::set_invoker_clock), for a controller.
    pub fn set_controller_clock(&self, index: usize, ahead: i64) {
        self.controllers[index].clock.as_ref().unwrap().set(ahead);
    }

    /// Waits for a controller to end by itself.
    #[track_caller]
    pub fn controller_ended(&mut self, index: usize) {
        let node = self.controllers[index].node.as_mut().unwrap();
        wait::until("the controller ends", node::START_LIMIT, || node.ended());
        self.controllers[index].node = None;
    }

    /// The partition between the controllers, in a cluster with [`partition`](crate::cluster::Setup::partition).
    pub fn partition(&self) -> &Partition {
        self.partition.as_ref().unwrap()
    }

    /// Whether a controller that was started has ended by itself.
    pub fn has_ended(&mut self, controller: usize) -> bool {
        let node = self.controllers[controller].node.as_mut();
        node.is_some_and(|node| node.ended().is_some())
    }

    /// The database server of a cluster with several controllers.
    #[track_caller]
    pub fn postgres(&mut self) -> &mut Postgres {
        self.postgres.as_mut().expect("it has one")
    }

    /// The S3 server of a cluster with several controllers.
    #[track_caller]
    pub fn bucket(&self) -> &S3Process {
        self.s3.as_ref().expect("it has one")
    }

    /// The server of the backend `redis-list`, in a cluster with [`redis`](crate::cluster::Setup::redis).
    #[track_caller]
    pub fn redis(&mut self) -> &mut Redis {
        self.redis.as_mut().expect("it has one")
    }
}

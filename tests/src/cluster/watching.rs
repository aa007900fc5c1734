//! What a test can observe of a cluster besides its API.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::member::Member;
use super::{Cluster, KEY};
use crate::Redis;
use crate::driver::Driver;
use crate::network::Cable;
use crate::node::Node;
use crate::processes::{self, Process};
use crate::{docker, node};

impl Cluster {
    /// Everything that a controller has logged, across all its restarts.
    pub fn controller_log(&self, index: usize) -> String {
        node::read_log(&self.controllers[index].data.join("logs/burst.log"))
    }

    /// What flares have left on the backends: keys of its Redis server.
    pub fn keys(&self) -> Vec<String> {
        self.redis.as_ref().map(Redis::keys).unwrap_or_default()
    }

    /// The controller that runs the scheduler, according to the epochs they logged.
    pub fn scheduler(&self) -> usize {
        let all = 0..self.controllers.len();
        all.max_by_key(|index| self.epoch_of(*index)).unwrap()
    }

    /// The scheduler's epoch: each new scheduler has a greater one.
    pub fn epoch(&self) -> u64 {
        let all = 0..self.controllers.len();
        all.filter_map(|index| self.epoch_of(index)).max().unwrap()
    }

    /// The epoch of the last scheduler in a controller.
    fn epoch_of(&self, index: usize) -> Option<u64> {
        const BEGINS: &str = "the scheduler begins here, epoch ";
        let log = self.controller_log(index);
        let epochs = log
            .lines()
            .filter_map(|line| line.split_once(BEGINS)?.1.parse::<u64>().ok());
        epochs.max()
    }

    /// The cable of an invoker on a machine of its own.
    pub fn cable(&self, invoker: usize) -> &Cable {
        &self.cables[&invoker]
    }

    /// The data directory of an invoker.
    pub fn invoker_data(&self, index: usize) -> &Path {
        &self.invokers[index].data
    }

    /// The file by which nodes prove that they belong to this cluster.
    pub fn key(&self) -> PathBuf {
        self.controllers[0].data.join(KEY)
    }

    /// The address at which other nodes reach the first controller.
    pub fn seed(&self) -> &str {
        &self.seeds[0]
    }

    /// Process ids of all nodes that run, with their names.
    pub fn pids(&self) -> Vec<(String, u32)> {
        let members = self.controllers.iter().chain(&self.invokers);
        let pid = |member: &Member| Some((member.name.clone(), member.node.as_ref()?.pid()));
        members.filter_map(pid).collect()
    }

    /// A directory for the test's own files, removed with the cluster.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The driver of its packs.
    pub fn driver(&self) -> Driver {
        self.setup.driver
    }

    /// The slots of all running invokers.
    pub fn slots(&self) -> u32 {
        let running = self.invokers.iter().filter(|i| i.node.is_some()).count();
        u32::try_from(running).unwrap() * self.setup.slots
    }

    /// Live processes besides those of the nodes themselves: packs.
    pub fn pack_processes(&self) -> BTreeSet<Process> {
        let members = || self.controllers.iter().chain(&self.invokers);
        let nodes: BTreeSet<u32> = members()
            .filter_map(|member| member.node.as_ref().map(Node::pid))
            .collect();
        members()
            .flat_map(|member| &member.sessions)
            // A process whose id is that of an earlier session is a stranger: the kernel reuses such an id only once
            // the session is empty.
            .filter(|session| nodes.contains(session) || !processes::lives(**session))
            .flat_map(|session| {
                processes::of_platform(Some(*session), &self.token, self.scratch.path())
            })
            .filter(|process| !nodes.contains(&process.pid))
            .collect()
    }

    /// Users' programs in this invoker's packs, if they are processes and have workers; warm ones have none.
    pub fn working(&self, invoker: usize) -> BTreeSet<Process> {
        let member = &self.invokers[invoker];
        // By its directory: the whole cluster shares the token.
        let data = member.data.to_str().unwrap();
        let all = processes::of_platform(None, data, &member.data);
        all.into_iter().filter(|p| workers(p.pid) > 0).collect()
    }

    /// The runtime of the pack of this invoker that has the most workers now; only packs that are processes and have
    /// workers count.
    pub fn busiest_runtime(&self, invoker: usize) -> Option<Process> {
        let programs = self.working(invoker);
        let workers_under = |runtime: &Process| -> usize {
            let of_runtime = |p: &&Process| processes::parent(p.pid) == Some(runtime.pid);
            let programs = programs.iter().filter(of_runtime);
            programs.map(|program| workers(program.pid)).sum()
        };
        let counted = self.runtimes().into_iter().map(|r| (workers_under(&r), r));
        let (_, busiest) = counted.filter(|(workers, _)| *workers > 0).max()?;
        Some(busiest)
    }

    /// Runtimes of packs that are processes.
    pub fn runtimes(&self) -> BTreeSet<Process> {
        let serves = |process: &Process| process.command.contains("burst-runtime serve");
        self.pack_processes().into_iter().filter(serves).collect()
    }

    /// Its containers, as `docker inspect` shows them.
    pub fn containers(&self) -> Vec<serde_json::Value> {
        match self.setup.driver.has_containers() {
            true => docker::containers_mentioning(self.scratch.path().to_str().unwrap()),
            false => Vec::new(),
        }
    }
}

/// Returns how many workers a user's program is running.
fn workers(pid: u32) -> usize {
    let threads = processes::threads(pid);
    let of_workers = threads.iter().filter(|name| name.starts_with("worker-"));
    of_workers.count()
}

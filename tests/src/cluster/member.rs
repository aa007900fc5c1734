//! One node of a cluster, across all its restarts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::account::{self, Account};
use crate::clock::Clock;
use crate::node::{self, Node};

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) prefix: Vec<String>,
    pub(super) account: Account,
    pub(super) clock: Option<Clock>,
    pub(super) arguments: Vec<String>,
    /// The distribution it is started from; if none, the one under test.
    pub(super) distribution: Option<PathBuf>,
    pub(super) home: PathBuf,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) node: Option<Node>,
    /// The session ids of all its runs, which contain the processes it starts.
    pub(super) sessions: Vec<u32>,
    /// The line it printed when it was ready; for a controller, the address of its API.
    pub(super) ready: String,
}

impl Member {
    /// Creates a node that does not run yet, with its data below `scratch`.
    pub(super) fn new(
        scratch: &Path,
        name: String,
        mut arguments: Vec<String>,
        seeds: &[String],
        account: &Account,
    ) -> Self {
        let data = scratch.join(&name);
        arguments.extend(["--data".into(), data.to_str().unwrap().into()]);
        for seed in seeds {
            arguments.extend(["--seed".into(), seed.clone()]);
        }
        Self {
            log: scratch.join(format!("{name}.log")),
            name,
            prefix: Vec::new(),
            account: account.clone(),
            home: scratch.to_owned(),
            clock: None,
            arguments,
            distribution: None,
            data,
            node: None,
            sessions: Vec::new(),
            ready: String::new(),
        }
    }

    pub(super) fn spawn(&mut self, token: &str, lifetime: Duration) {
        assert!(self.node.is_none(), "{} runs already", self.name);
        let distribution = self.distribution.clone();
        let distribution = distribution.unwrap_or_else(|| account::installation(&self.home));
        let command = node::burst_of(
            &distribution,
            &self.prefix,
            &self.account,
            &self.home,
            &self.arguments,
        );
        let node = Node::spawn(command, &self.log, token, lifetime);
        self.sessions.push(node.pid());
        self.node = Some(node);
    }

    #[track_caller]
    pub(super) fn await_ready(&mut self) {
        let ready = self.node.as_mut().expect("it was started").ready();
        self.ready = ready.unwrap_or_else(|ended| panic!("{}: {ended}", self.name));
    }

    /// Fails the test if the node has ended: waiting for it would be in vain.
    #[track_caller]
    pub(super) fn assert_runs(&mut self) {
        let ended = self.node.as_mut().and_then(Node::ended);
        if let Some(status) = ended {
            panic!(
                "{} ended with {status}: {}",
                self.name,
                Node::last_lines(&self.log)
            );
        }
    }

    /// Returns whether the other controllers went on without it before it was ready.
    #[track_caller]
    pub(super) fn is_left_behind(&mut self) -> bool {
        match self.node.as_mut().expect("it was started").ready() {
            Ok(ready) => {
                self.ready = ready;
                false
            }
            Err(ended) if ended.output.contains("went on without this one") => {
                self.node = None;
                true
            }
            Err(ended) => panic!("{}: {ended}", self.name),
        }
    }

    #[track_caller]
    pub(super) fn take(&mut self) -> Node {
        let node = self.node.take();
        node.unwrap_or_else(|| panic!("{} does not run", self.name))
    }
}

//! A whole platform of one's own: started for a test, proven gone after it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

use crate::account::{self, Account};
use crate::cli::Cli;
use crate::command::Finished;
use crate::driver::Driver;
use crate::leftovers::Footprint;
use crate::node::{self, Node};
use crate::processes::{self, Process};
use crate::settings::Settings;
use crate::{Api, control_groups, docker};

/// A running platform. Dropping it stops it and checks that nothing is left of it.
#[derive(Debug)]
pub struct Platform {
    settings: Settings,
    account: Account,
    scratch: TempDir,
    token: String,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    node: Node,
    api: Api,
}

impl Platform {
    /// Starts a platform on an empty data directory and waits until it is ready.
    #[track_caller]
    pub fn start(settings: Settings) -> Self {
        if settings.driver() == Driver::Docker {
            docker::require();
        }
        let mut platform = Self {
            account: settings.account(),
            settings,
            scratch: account::directory("burst-test-"),
            token: node::token(),
            running: None,
        };
        platform.start_again();
        platform
    }

    /// Starts it again on the same data directory after [`Platform::kill`].
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.running.is_none(), "it runs already");
        let mut arguments = self.settings.arguments();
        arguments.extend(["--data".into(), self.data().to_str().unwrap().into()]);
        let lifetime = self.settings.lifetime();
        let mut node = Node::spawn(
            node::burst(
                self.settings.prefix(),
                &self.account,
                self.scratch.path(),
                &arguments,
            ),
            &self.log_file(),
            &self.token,
            lifetime,
        );
        let ready = node.ready().unwrap_or_else(|said| panic!("{said}"));
        let properties = fs::read_to_string(self.data().join("properties")).unwrap();
        let auth = properties
            .lines()
            .find_map(|line| line.trim().strip_prefix("AUTH="))
            .expect("AUTH in the properties file");
        self.running = Some(Running {
            api: Api::new(&ready, auth),
            node,
        });
    }

    /// Kills the platform's JVM as `kill -9` does: it has no chance to clean up.
    pub fn kill(&mut self) {
        self.running.take().expect("it runs").node.kill();
    }

    /// Stops the platform as an operator does and checks that nothing is left of it.
    pub fn stop(&mut self) {
        let running = self.running.take().expect("it runs");
        let session = running.node.pid();
        let port: u16 = running
            .api
            .address()
            .rsplit(':')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        node::assert_good_end("the platform", running.node.terminate());
        let left = self.processes_in(session);
        assert!(left.is_empty(), "processes outlive the platform: {left:#?}");
        assert!(!processes::is_listened_on(port), "port {port} is open");
        let left = self.all_containers();
        assert!(
            left.is_empty(),
            "containers outlive the platform: {left:#?}"
        );
        let mut left = self.networks();
        left.retain(|network| !docker::miscounts(network));
        assert!(left.is_empty(), "networks outlive the platform: {left:?}");
        let left = self.control_groups();
        assert!(
            left.is_empty(),
            "control groups outlive the platform: {left:?}"
        );
        let sandboxes = self.data().join("invoker/sandbox");
        assert!(!sandboxes.exists(), "{} is left", sandboxes.display());
    }

    /// Bytes of memory that its process has had at most.
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Its API with its first credentials.
    #[track_caller]
    pub fn api(&self) -> &Api {
        &self.running.as_ref().expect("it runs").api
    }

    /// The `burst` command as this platform's user runs it.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> Finished {
        Cli::of(self.api(), self.scratch.path()).run(arguments)
    }

    /// The `burst` command, to be set up otherwise than [`Platform::cli`] does.
    pub fn cli_setup(&self) -> Cli {
        Cli::of(self.api(), self.scratch.path())
    }

    /// The definitions, flares and packages.
    pub fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// A directory for the test's own files, gone with the platform.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// What it wrote on its standard output and error.
    pub fn log_file(&self) -> PathBuf {
        self.scratch.path().join("platform.log")
    }

    /// How many workers it runs at once.
    pub fn slots(&self) -> u32 {
        self.settings.slot_count()
    }

    /// Process id of the JVM.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("it runs").node.pid()
    }

    /// Its live processes.
    pub fn processes(&self) -> BTreeSet<Process> {
        self.processes_in(self.pid())
    }

    /// Its packs' containers, as `docker inspect` shows them.
    pub fn containers(&self) -> Vec<serde_json::Value> {
        let mut packs = self.all_containers();
        packs.retain(|container| !docker::keeps_network(container));
        packs
    }

    fn all_containers(&self) -> Vec<serde_json::Value> {
        match self.settings.driver() {
            Driver::Process | Driver::Sandbox => Vec::new(),
            Driver::Docker => docker::containers_mentioning(self.data().to_str().unwrap()),
        }
    }

    fn networks(&self) -> Vec<String> {
        match (self.settings.driver(), self.owner()) {
            (Driver::Docker, Some(owner)) => docker::networks_of(&owner),
            _ => Vec::new(),
        }
    }

    /// Of its sandboxes, by name.
    fn control_groups(&self) -> BTreeSet<String> {
        match (self.settings.driver(), self.owner()) {
            (Driver::Sandbox, Some(owner)) => control_groups::of(&owner),
            _ => BTreeSet::new(),
        }
    }

    /// What the invoker's things bear.
    fn owner(&self) -> Option<String> {
        let owner = fs::read_to_string(self.data().join("invoker/owner")).ok()?;
        Some(owner.trim().to_owned())
    }

    /// All that it has on this machine now.
    pub fn footprint(&self) -> Footprint {
        let processes = self.processes();
        Footprint {
            ports: processes::listening_ports(&processes),
            processes,
            containers: self.containers().iter().map(docker::id).collect(),
            control_groups: self.control_groups(),
            free_slots: self.api().free_slots(),
            warm_packs: self.api().warm_packs(),
        }
    }

    fn processes_in(&self, session: u32) -> BTreeSet<Process> {
        processes::of_platform(Some(session), &self.token, &self.data())
    }

    /// Ends what a failed test leaves, so that it disturbs no other; checks nothing.
    fn sweep(&mut self) {
        let session = self.running.as_ref().map(|running| running.node.pid());
        if let Some(running) = self.running.take() {
            running.node.kill();
        }
        for process in processes::of_platform(session, &self.token, &self.data()) {
            node::kill(process.pid);
        }
        for container in self.all_containers() {
            docker::remove(&docker::id(&container));
        }
        for network in self.networks() {
            docker::remove_network(&network);
        }
        if let (Driver::Sandbox, Some(owner)) = (self.settings.driver(), self.owner()) {
            control_groups::remove(&owner);
        }
        Node::last_words(&self.log_file());
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        if thread::panicking() {
            self.sweep();
        } else if self.running.is_some() {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.stop()));
            if let Err(cause) = stopped {
                self.sweep();
                std::panic::resume_unwind(cause);
            }
        }
    }
}

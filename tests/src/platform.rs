//! A whole platform: started for one test, or lent to several one after another, and checked to be completely gone at
//! the end.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

use crate::account::{self, Account};
use crate::administrator::{self, Administrator};
use crate::borrower::Borrower;
use crate::cli::Cli;
use crate::command::Finished;
use crate::leftovers::Footprint;
use crate::node::{self, Node};
use crate::processes::{self, Process};
use crate::settings::Settings;
use crate::{Api, control_groups, docker, wait};

/// A running platform. Dropping it stops it and checks that nothing is left behind.
#[derive(Debug)]
pub struct Platform {
    settings: Settings,
    account: Account,
    home: TempDir,
    token: String,
    running: Option<Running>,
    borrower: Option<Borrower>,
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
        settings.driver().require();
        let mut platform = Self {
            account: settings.account(),
            settings,
            home: account::directory("burst-test-"),
            token: node::token(),
            running: None,
            borrower: None,
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
                self.home.path(),
                &arguments,
            ),
            &self.log_file(),
            &self.token,
            lifetime,
        );
        let ready = node.ready().unwrap_or_else(|ended| panic!("{ended}"));
        let properties = self.first_users();
        let auth = properties
            .lines()
            .find_map(|line| line.trim().strip_prefix("AUTH="))
            .expect("AUTH in the properties file");
        self.running = Some(Running {
            api: Api::new(&ready, auth),
            node,
        });
    }

    /// Kills the platform's JVM as `kill -9` does, without a chance to clean up.
    pub fn kill(&mut self) {
        self.running.take().expect("it runs").node.kill();
    }

    /// Stops the platform as an operator does and checks that nothing is left behind.
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
        let listening = processes::listeners_on(port);
        assert!(!listening.is_empty(), "nobody listens on port {port}");
        node::assert_clean_exit("the platform", running.node.terminate());
        let left = self.processes_in(session);
        assert!(left.is_empty(), "processes outlive the platform: {left:#?}");
        let left = processes::listeners_on(port);
        assert!(listening.is_disjoint(&left), "port {port} is open");
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

    /// The peak memory of its process, in bytes.
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Its API with the credentials of its current user: the borrower, or else its first user.
    #[track_caller]
    pub fn api(&self) -> &Api {
        match &self.borrower {
            Some(borrower) => borrower.api(),
            None => self.first_api(),
        }
    }

    #[track_caller]
    fn first_api(&self) -> &Api {
        &self.running.as_ref().expect("it runs").api
    }

    /// The namespace of these credentials.
    pub fn namespace(&self) -> &str {
        let borrowed = self.borrower.as_ref().map(Borrower::namespace);
        borrowed.unwrap_or(administrator::FIRST)
    }

    /// The properties file with these credentials and the administrator's.
    pub fn properties(&self) -> PathBuf {
        let borrowed = self.borrower.as_ref().map(Borrower::properties);
        borrowed.unwrap_or_else(|| self.data().join("properties"))
    }

    /// The content of the properties file of the user who started it.
    #[track_caller]
    fn first_users(&self) -> String {
        fs::read_to_string(self.data().join("properties")).unwrap()
    }

    /// Runs the `burst` command as this platform's user.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> Finished {
        self.cli_setup().run(arguments)
    }

    /// The `burst` command, for calls that need another set-up than [`Platform::cli`].
    #[track_caller]
    pub fn cli_setup(&self) -> Cli {
        Cli::of(self.api(), self.scratch())
    }

    /// The directory of its definitions, flares and packages.
    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// A directory for the test's own files, removed with the platform or when that is returned.
    pub fn scratch(&self) -> &Path {
        let borrowed = self.borrower.as_ref().map(Borrower::scratch);
        borrowed.unwrap_or(self.home.path())
    }

    /// The file with everything it wrote to its standard output and error since its start.
    pub fn log_file(&self) -> PathBuf {
        self.home.path().join("platform.log")
    }

    /// What it wrote there since it was started or borrowed.
    pub fn log(&self) -> String {
        let log = node::read_log(&self.log_file());
        match &self.borrower {
            Some(borrower) => borrower.since(&log).to_owned(),
            None => log,
        }
    }

    /// Returns whether it is equivalent to a new one with these settings.
    pub(crate) fn is_of(&self, settings: &Settings) -> bool {
        self.settings.start_the_same(settings)
    }

    /// Lends it to a borrower with a namespace of its own, for as long as these settings let a platform live.
    #[track_caller]
    pub(crate) fn lend(&mut self, settings: &Settings) {
        assert!(self.borrower.is_none(), "it is lent already");
        let running = self.running.as_mut().expect("it runs");
        running.node.limit(Some(settings.lifetime()));
        let base = running.api.base().to_owned();
        let logged = node::read_log(&self.log_file()).len();
        let home = self.home.path();
        self.borrower = Some(Borrower::new(&base, &self.first_users(), home, logged));
    }

    /// Takes it back: ends everything its borrower has running, and the warm packs, and checks that nothing else is
    /// left that did not exist `before` the first loan.
    #[track_caller]
    pub(crate) fn take_back(&mut self, before: &Footprint) {
        let borrower = self.borrower.take().expect("it is lent");
        Administrator::of(self.first_api().base(), &self.first_users()).revoke_all();
        // First wait for the platform itself: before packs are ended from outside, it must have none but the warm ones
        // it knows.
        wait::until_seen(
            "all packs that are left are warm",
            wait::SOON,
            || (self.packs(before), self.api().warm_packs() as usize),
            |(packs, warm)| packs == warm,
        );
        let mut signalled = BTreeSet::new();
        let look = || {
            self.end_packs(&mut signalled);
            let invokers = self.api().invokers().into_iter();
            let lacks = invokers.filter(|it| it.state != "up" || it.drained);
            (self.footprint(), lacks.collect::<Vec<_>>())
        };
        wait::until_seen("nothing is left", wait::SOON, look, |(footprint, lacks)| {
            footprint == before && lacks.is_empty()
        });
        // Only now remove the directory, as its flares may have used it.
        drop(borrower);
        self.running.as_mut().expect("it runs").node.limit(None);
    }

    /// The number of packs that did not exist `before`.
    fn packs(&self, before: &Footprint) -> usize {
        let mut processes = self.children();
        processes.retain(|process| !before.processes.contains(process));
        processes.len() + self.containers().len()
    }

    /// The processes that it has started itself.
    fn children(&self) -> BTreeSet<Process> {
        let own = Some(self.pid());
        let mut processes = self.processes();
        processes.retain(|process| processes::parent(process.pid) == own);
        processes
    }

    /// Ends packs, as their owner would, unless they have already been signalled.
    fn end_packs(&self, signalled: &mut BTreeSet<u32>) {
        for process in self.children() {
            if signalled.insert(process.pid) {
                node::end(process.pid);
            }
        }
        for container in self.containers() {
            docker::remove(&docker::id(&container));
        }
    }

    /// The number of workers it runs at once.
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
        match self.settings.driver().has_containers() {
            true => docker::containers_mentioning(self.data().to_str().unwrap()),
            false => Vec::new(),
        }
    }

    fn networks(&self) -> Vec<String> {
        match (self.settings.driver().has_containers(), self.owner()) {
            (true, Some(owner)) => docker::networks_of(&owner),
            _ => Vec::new(),
        }
    }

    /// The control groups of its sandboxes, by name.
    fn control_groups(&self) -> BTreeSet<String> {
        match (self.settings.driver().has_control_groups(), self.owner()) {
            (true, Some(owner)) => control_groups::of(&owner),
            _ => BTreeSet::new(),
        }
    }

    /// The id that marks everything the invoker owns.
    fn owner(&self) -> Option<String> {
        let owner = fs::read_to_string(self.data().join("invoker/owner")).ok()?;
        Some(owner.trim().to_owned())
    }

    /// Everything that it holds on this machine now.
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

    /// Cleans up after a failed test, so that it disturbs no other; checks nothing.
    pub(crate) fn sweep(&mut self) {
        let session = self.running.as_ref().map(|running| running.node.pid());
        if let Some(mut running) = self.running.take() {
            if let Some(status) = running.node.ended() {
                eprintln!("the platform had ended by itself: {status}");
            }
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
        let has_control_groups = self.settings.driver().has_control_groups();
        if let (true, Some(owner)) = (has_control_groups, self.owner()) {
            control_groups::remove(&owner);
        }
        eprintln!("{}", Node::last_lines(&self.log_file()));
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

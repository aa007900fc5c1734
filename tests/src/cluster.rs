//! A cluster of one's own: controllers and invokers as processes on random ports, to be faulted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::clock::Clock;
use crate::network::Cable;
use crate::node::{self, Node};
use crate::postgres_server::{self, Postgres};
use crate::processes::{self, Process};
use crate::redis_server::Redis;
use crate::s3_server::S3;
use crate::settings::Driver;
use crate::{Api, built, docker, wait};

/// How a cluster is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    driver: Driver,
    controllers: usize,
    invokers: usize,
    slots: u32,
    remote: Vec<usize>,
    clocks: bool,
    redis: bool,
    flags: Vec<String>,
    invoker_flags: Vec<String>,
    limit: Duration,
}

impl Setup {
    /// One controller, four invokers of four slots, everything else as it comes. A cluster that
    /// lives longer than five minutes is taken for hung and killed.
    pub fn new(driver: Driver) -> Self {
        Self {
            driver,
            controllers: 1,
            invokers: 4,
            slots: 4,
            remote: Vec::new(),
            clocks: false,
            redis: false,
            flags: Vec::new(),
            invoker_flags: Vec::new(),
            limit: Duration::from_secs(300),
        }
    }

    /// How many controllers. More than one share a PostgreSQL and an S3 server, which the cluster brings.
    pub fn controllers(mut self, count: usize) -> Self {
        self.controllers = count;
        self
    }

    /// How many invokers.
    pub fn invokers(mut self, count: usize) -> Self {
        self.invokers = count;
        self
    }

    /// How many workers each invoker runs at once.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Puts an invoker on a machine of its own, which can be cut off.
    pub fn remote(mut self, invoker: usize) -> Self {
        self.remote.push(invoker);
        self
    }

    /// Gives every node a clock of its own, which can be set.
    pub fn clocks(mut self) -> Self {
        self.clocks = true;
        self
    }

    /// Brings a Redis server, as the backend `redis-list`.
    pub fn redis(mut self) -> Self {
        self.redis = true;
        self
    }

    /// A setting of the controllers.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.flags
            .extend(["--set".to_owned(), format!("{key}={value}")]);
        self
    }

    /// A setting of the invokers.
    pub fn set_invokers(mut self, key: &str, value: &str) -> Self {
        self.invoker_flags
            .extend(["--set".to_owned(), format!("{key}={value}")]);
        self
    }

    /// How long the cluster may live.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// A running cluster. Dropping it stops it and checks that nothing is left of it.
#[derive(Debug)]
pub struct Cluster {
    setup: Setup,
    scratch: TempDir,
    token: String,
    controllers: Vec<Member>,
    invokers: Vec<Member>,
    auth: String,
    seeds: Vec<String>,
    postgres: Option<Postgres>,
    cables: BTreeMap<usize, Cable>,
    redis: Option<Redis>,
    _s3: Option<S3>,
    _turn: MutexGuard<'static, ()>,
}

/// Of the tests of one program one has a cluster at a time: each is half a dozen JVMs.
static TURN: Mutex<()> = Mutex::new(());

#[derive(Debug)]
struct Member {
    name: String,
    prefix: Vec<String>,
    clock: Option<Clock>,
    arguments: Vec<String>,
    data: PathBuf,
    log: PathBuf,
    node: Option<Node>,
    /// Those of all its lives: what it starts is in them.
    sessions: Vec<u32>,
    /// What it said when it was ready: for a controller the address of its API.
    ready: String,
}

impl Member {
    fn spawn(&mut self, token: &str, lifetime: Duration) {
        assert!(self.node.is_none(), "{} runs already", self.name);
        let command = node::burst(&self.prefix, &self.arguments);
        let node = Node::spawn(command, &self.log, token, lifetime);
        self.sessions.push(node.pid());
        self.node = Some(node);
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let ready = self.node.as_mut().expect("it was started").ready();
        self.ready = ready.unwrap_or_else(|said| panic!("{}: {said}", self.name));
    }

    #[track_caller]
    fn take(&mut self) -> Node {
        let node = self.node.take();
        node.unwrap_or_else(|| panic!("{} does not run", self.name))
    }
}

impl Cluster {
    /// Starts all processes and waits until every invoker is up.
    #[track_caller]
    pub fn start(setup: Setup) -> Self {
        if setup.driver == Driver::Docker {
            docker::require();
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = tempfile::Builder::new()
            .prefix("burst-cluster-")
            .tempdir()
            .unwrap();
        // Packs in containers run as another user and mount packages from below here.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(scratch.path(), open).unwrap();
        let cables: BTreeMap<usize, Cable> = setup
            .remote
            .iter()
            .map(|invoker| (*invoker, Cable::lay()))
            .collect();
        // Who is on this machine must have an address that those on others reach.
        let here = cables
            .values()
            .next()
            .map_or("127.0.0.1", Cable::here)
            .to_owned();
        let (postgres, s3) = match setup.controllers {
            0 | 1 => (None, None),
            _ => (Some(Postgres::start()), Some(S3::start())),
        };
        let seeds: Vec<String> = (0..setup.controllers)
            .map(|_| format!("{here}:{}", free_port(&here)))
            .collect();
        let mut shared = setup.flags.clone();
        let redis = setup.redis.then(|| Redis::start_at(&here));
        if let Some(redis) = &redis {
            shared.extend(["--backend".into(), format!("redis-list={}", redis.uri())]);
        }
        if let (Some(postgres), Some(s3)) = (&postgres, &s3) {
            let file = scratch.path().join("stores.conf");
            fs::write(&file, stores(postgres, s3)).unwrap();
            shared.extend(["--config".into(), file.to_str().unwrap().into()]);
        }
        let controllers = seeds.iter().enumerate().map(|(index, node)| {
            let port = free_port("127.0.0.1").to_string();
            let arguments = ["controller", "--port", &port, "--node", node].map(String::from);
            let arguments = arguments
                .into_iter()
                .chain(shared.iter().cloned())
                .collect();
            member(&scratch, format!("controller{index}"), arguments, &seeds)
        });
        let invokers = (0..setup.invokers).map(|index| {
            let id = format!("invoker{index}");
            let slots = setup.slots.to_string();
            let cable = cables.get(&index);
            let host = cable.map_or(here.as_str(), Cable::there);
            let arguments = ["invoker", "--id", &id, "--slots", &slots, "--node", host];
            let driver = ["--driver", setup.driver.name()];
            // What runs can then be told from what is kept warm.
            let cold = ["--set", "burst.invoker.prewarmed=0"];
            let arguments = arguments
                .into_iter()
                .chain(driver)
                .chain(cold)
                .map(String::from);
            let arguments = arguments
                .chain(setup.invoker_flags.iter().cloned())
                .collect();
            let mut member = member(&scratch, id.clone(), arguments, &seeds);
            member.prefix = cable.map(Cable::prefix).unwrap_or_default();
            member
        });
        let mut cluster = Self {
            token: node::token(),
            controllers: controllers.collect(),
            invokers: invokers.collect(),
            auth: String::new(),
            seeds,
            postgres,
            cables,
            redis,
            _s3: s3,
            _turn: turn,
            scratch,
            setup,
        };
        if cluster.setup.clocks {
            for member in cluster.controllers.iter_mut().chain(&mut cluster.invokers) {
                let clock = Clock::new(&member.name, cluster.scratch.path());
                member.prefix.extend(clock.prefix());
                member.clock = Some(clock);
            }
        }
        cluster.start_all();
        cluster
    }

    fn start_all(&mut self) {
        let (token, limit) = (&self.token, self.setup.limit);
        for member in self.controllers.iter_mut().chain(&mut self.invokers) {
            member.spawn(token, limit);
        }
        for member in self.controllers.iter_mut().chain(&mut self.invokers) {
            member.await_ready();
        }
        self.auth = self
            .controllers
            .iter()
            .find_map(|controller| fs::read_to_string(controller.data.join("properties")).ok())
            .and_then(|text| {
                let auth = text.lines().find_map(|line| line.strip_prefix("AUTH="));
                auth.map(str::to_owned)
            })
            .expect("AUTH in a controller's properties file");
        self.all_up();
    }

    /// Waits until every invoker that runs is up.
    #[track_caller]
    pub fn all_up(&self) {
        let running: BTreeSet<String> = self
            .invokers
            .iter()
            .filter(|invoker| invoker.node.is_some())
            .map(|invoker| invoker.name.clone())
            .collect();
        wait::until_seen(
            "every invoker is up",
            node::START_LIMIT,
            || self.api().try_invokers().unwrap_or_default(),
            |seen| {
                let up = seen.iter().filter(|invoker| invoker.state == "up");
                up.map(|invoker| invoker.id.clone())
                    .collect::<BTreeSet<_>>()
                    == running
            },
        );
    }

    /// The API of the first controller that runs.
    #[track_caller]
    pub fn api(&self) -> Api {
        let running = (0..self.controllers.len()).find(|i| self.controllers[*i].node.is_some());
        self.api_of(running.expect("a controller runs"))
    }

    /// The API of one controller.
    #[track_caller]
    pub fn api_of(&self, controller: usize) -> Api {
        Api::new(&self.controllers[controller].ready, &self.auth)
    }

    /// The APIs of all controllers, whether they run or not.
    pub fn apis(&self) -> Vec<Api> {
        (0..self.controllers.len())
            .map(|index| self.api_of(index))
            .collect()
    }

    /// Deploys a program that is built already.
    #[track_caller]
    pub fn deploy(&self, name: &str) {
        let program = built::program(name);
        let arguments = ["deploy", name, program.to_str().unwrap()];
        Cli::of(&self.api(), self.scratch.path())
            .run(&arguments)
            .exits(0);
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
        node::assert_good_end(&invoker.name, status);
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

    /// Starts controllers again on their old data, together.
    #[track_caller]
    pub fn start_controllers(&mut self, indices: &[usize]) {
        let (token, limit) = (&self.token, self.setup.limit);
        for index in indices {
            self.controllers[*index].spawn(token, limit);
        }
        for index in indices {
            self.controllers[*index].await_ready();
        }
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

    /// Sets the clock of an invoker so many seconds ahead, in a cluster with [`clocks`](Setup::clocks).
    pub fn set_invoker_clock(&self, index: usize, ahead: i64) {
        self.invokers[index].clock.as_ref().unwrap().set(ahead);
    }

    /// As [`set_invoker_clock`](Self::set_invoker_clock), of a controller.
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

    /// The database server of a cluster with several controllers.
    #[track_caller]
    pub fn postgres(&mut self) -> &mut Postgres {
        self.postgres.as_mut().expect("it has one")
    }

    /// What flares have left on the backends: keys of its Redis server.
    pub fn keys(&self) -> Vec<String> {
        self.redis.as_ref().map(Redis::keys).unwrap_or_default()
    }

    /// Which controller has the scheduler, as the epochs they logged tell.
    pub fn scheduler(&self) -> usize {
        const BEGINS: &str = "the scheduler begins here, epoch ";
        let epoch = |controller: &Member| {
            let log =
                fs::read_to_string(controller.data.join("logs/burst.log")).unwrap_or_default();
            let epochs = log
                .lines()
                .filter_map(|line| line.split_once(BEGINS)?.1.parse::<u64>().ok());
            epochs.max()
        };
        let all = 0..self.controllers.len();
        all.max_by_key(|index| epoch(&self.controllers[*index]))
            .unwrap()
    }

    /// The cable of an invoker on a machine of its own.
    pub fn cable(&self, invoker: usize) -> &Cable {
        &self.cables[&invoker]
    }

    /// Where an invoker keeps its data.
    pub fn invoker_data(&self, index: usize) -> &Path {
        &self.invokers[index].data
    }

    /// Where the first controller is reached by other nodes.
    pub fn seed(&self) -> &str {
        &self.seeds[0]
    }

    /// Process ids of all nodes that run, with their names.
    pub fn pids(&self) -> Vec<(String, u32)> {
        let members = self.controllers.iter().chain(&self.invokers);
        let pid = |member: &Member| Some((member.name.clone(), member.node.as_ref()?.pid()));
        members.filter_map(pid).collect()
    }

    /// A directory for the test's own files, gone with the cluster.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// What packs are.
    pub fn driver(&self) -> Driver {
        self.setup.driver
    }

    /// Slots of all invokers that run.
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
            .flat_map(|session| {
                processes::of_platform(Some(*session), &self.token, self.scratch.path())
            })
            .filter(|process| !nodes.contains(&process.pid))
            .collect()
    }

    /// Users' programs in packs of this invoker that are processes and have workers: warm ones have none.
    pub fn working(&self, invoker: usize) -> BTreeSet<Process> {
        let member = &self.invokers[invoker];
        // By its directory: the token is that of the whole cluster.
        let data = member.data.to_str().unwrap();
        let works = |process: &Process| {
            let threads = processes::threads(process.pid);
            threads.iter().any(|name| name.starts_with("worker-"))
        };
        let all = processes::of_platform(None, data, &member.data);
        all.into_iter().filter(works).collect()
    }

    /// Runtimes of packs that are processes.
    pub fn runtimes(&self) -> BTreeSet<Process> {
        let serves = |process: &Process| process.command.contains("burst-runtime serve");
        self.pack_processes().into_iter().filter(serves).collect()
    }

    /// Its containers, as `docker inspect` shows them.
    pub fn containers(&self) -> Vec<serde_json::Value> {
        match self.setup.driver {
            Driver::Process => Vec::new(),
            Driver::Docker => docker::containers_mentioning(self.scratch.path().to_str().unwrap()),
        }
    }

    /// Stops all processes as an operator does and checks that nothing is left of them.
    pub fn stop(&mut self) {
        for member in self.invokers.iter_mut().chain(&mut self.controllers) {
            if let Some(node) = member.node.take() {
                node::assert_good_end(&member.name, node.terminate());
            }
        }
        let left = self.pack_processes();
        assert!(left.is_empty(), "processes outlive the cluster: {left:#?}");
        let left = self.containers();
        assert!(left.is_empty(), "containers outlive it: {left:#?}");
    }

    /// Ends what a failed test leaves, so that it disturbs no other; checks nothing.
    fn sweep(&mut self) {
        for member in self.invokers.iter_mut().chain(&mut self.controllers) {
            if let Some(node) = member.node.take() {
                node.kill();
            }
        }
        for process in self.pack_processes() {
            node::kill(process.pid);
        }
        for container in self.containers() {
            docker::remove(&docker::id(&container));
        }
        let kept = built::repository().join("target/failed");
        let kept = kept.join(self.scratch.path().file_name().unwrap());
        let _ = fs::create_dir_all(&kept);
        for member in self.controllers.iter().chain(&self.invokers) {
            let log = member.data.join("logs/burst.log");
            Node::last_words(&member.log);
            Node::last_words(&log);
            let _ = fs::copy(&member.log, kept.join(format!("{}.out", member.name)));
            let _ = fs::copy(&log, kept.join(format!("{}.log", member.name)));
        }
        eprintln!("what the nodes logged is kept in {}", kept.display());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            self.sweep();
        } else {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.stop()));
            if let Err(cause) = stopped {
                self.sweep();
                std::panic::resume_unwind(cause);
            }
        }
    }
}

/// Settings of controllers that share these servers.
fn stores(postgres: &Postgres, s3: &S3) -> String {
    format!(
        "burst.store.postgresql {{ url = \"{}\", user = \"{}\", password = \"{}\" }}\n{}",
        postgres.url(),
        postgres_server::USER,
        postgres.password(),
        s3.settings()
    )
}

fn member(scratch: &TempDir, name: String, mut arguments: Vec<String>, seeds: &[String]) -> Member {
    let data = scratch.path().join(&name);
    arguments.extend(["--data".into(), data.to_str().unwrap().into()]);
    for seed in seeds {
        arguments.extend(["--seed".into(), seed.clone()]);
    }
    Member {
        log: scratch.path().join(format!("{name}.log")),
        name,
        prefix: Vec::new(),
        clock: None,
        arguments,
        data,
        node: None,
        sessions: Vec::new(),
        ready: String::new(),
    }
}

/// A port nobody listens on. Nodes must know each other's before any of them runs, so that it cannot
/// be left to the system; it is taken from below those the system gives to connections.
fn free_port(host: &str) -> u16 {
    const FIRST: u16 = 18_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let start = now.subsec_nanos() ^ std::process::id().rotate_left(16);
    (0..COUNT)
        .map(|_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            FIRST + ((start.wrapping_add(step)) % u32::from(COUNT)) as u16
        })
        .find(|port| TcpListener::bind((host, *port)).is_ok())
        .expect("a free port")
}

//! How a cluster is set up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::driver::Driver;
use crate::patience;

/// How a cluster is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(super) driver: Driver,
    pub(super) others: BTreeMap<usize, Driver>,
    pub(super) rooted: bool,
    pub(super) controllers: usize,
    pub(super) invokers: usize,
    pub(super) slots: u32,
    pub(super) remote: Vec<usize>,
    pub(super) clocks: bool,
    pub(super) rift: bool,
    pub(super) redis: bool,
    /// Whether its database has on the disk what it says it has.
    pub(super) flushes: bool,
    pub(super) flags: Vec<String>,
    pub(super) lines: String,
    pub(super) invoker_flags: Vec<String>,
    pub(super) distribution: Option<PathBuf>,
    pub(super) limit: Duration,
}

impl Setup {
    /// One controller, four invokers of four slots, which find each other and part sooner than is needed where nobody
    /// waits for that, and are patient with what starts on a busy machine. A cluster that lives longer than half an
    /// hour is taken for hung and killed.
    pub fn new(driver: Driver) -> Self {
        let setup = Self::as_it_comes(driver);
        let setup = Self {
            flushes: false,
            ..setup
        };
        let setup = setup
            .set("burst.cluster.found-after", "500ms")
            // An invoker says hello with each, and leaves after two.
            .set_invokers("burst.invoker.heartbeat-interval", "250ms");
        let controllers = patience::REQUESTS.into_iter().chain([patience::START]);
        let setup = controllers.fold(setup, |setup, (key, value)| setup.set(key, value));
        let starts = patience::STARTS.into_iter();
        starts.fold(setup, |setup, (key, value)| setup.set_invokers(key, value))
    }

    /// The same with all settings as users have them, but for how long a stop may take: for what is measured.
    pub fn as_it_comes(driver: Driver) -> Self {
        Self {
            driver,
            others: BTreeMap::new(),
            rooted: false,
            controllers: 1,
            invokers: 4,
            slots: 4,
            remote: Vec::new(),
            clocks: false,
            rift: false,
            redis: false,
            flushes: true,
            flags: Vec::new(),
            lines: String::new(),
            invoker_flags: Vec::new(),
            distribution: None,
            limit: Duration::from_secs(1800),
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

    /// Another driver for an invoker.
    pub fn driver_of(mut self, invoker: usize, driver: Driver) -> Self {
        self.others.insert(invoker, driver);
        self
    }

    /// All nodes are root's.
    pub fn as_root(mut self) -> Self {
        self.rooted = true;
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

    /// Lets a rift open between the controllers.
    pub fn rift(mut self) -> Self {
        self.rift = true;
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

    /// A line of the configuration file of several controllers, for what is no setting of Burst's own.
    pub fn line(mut self, line: &str) -> Self {
        self.lines += line;
        self.lines.push('\n');
        self
    }

    /// A setting of the invokers.
    pub fn set_invokers(mut self, key: &str, value: &str) -> Self {
        self.invoker_flags
            .extend(["--set".to_owned(), format!("{key}={value}")]);
        self
    }

    /// All nodes are of this distribution, which may be another release's, until that is
    /// [changed](super::Cluster::set_distribution).
    pub fn distribution(mut self, distribution: Option<PathBuf>) -> Self {
        self.distribution = distribution;
        self
    }

    /// Whether nodes have certificates of an authority in place of a key they share.
    pub(super) fn certified(&self) -> bool {
        self.flags
            .iter()
            .any(|flag| flag.starts_with("burst.cluster.tls."))
    }

    /// How long the cluster may live.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

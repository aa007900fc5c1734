//! The configuration of a test cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::driver::Driver;
use crate::patience;

/// The configuration of a test cluster.
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
    pub(super) partition: bool,
    pub(super) redis: bool,
    /// Whether its database flushes committed data to the disk.
    pub(super) flushes: bool,
    pub(super) flags: Vec<String>,
    pub(super) lines: String,
    pub(super) invoker_flags: Vec<String>,
    pub(super) distribution: Option<PathBuf>,
    pub(super) limit: Duration,
}

impl Setup {
    /// One controller and four invokers of four slots. They find each other and leave sooner than by default, as tests
    /// wait for that, and have generous limits for whatever starts on a busy machine. A cluster that lives longer than
    /// half an hour is considered hung and killed.
    pub fn new(driver: Driver) -> Self {
        let setup = Self::as_it_comes(driver);
        let setup = Self {
            flushes: false,
            ..setup
        };
        let setup = setup
            .set("burst.cluster.found-after", "500ms")
            // An invoker says Hello at each interval, and leaves after two.
            .set_invokers("burst.invoker.heartbeat-interval", "250ms");
        let controllers = patience::REQUESTS.into_iter().chain([patience::START]);
        let setup = controllers.fold(setup, |setup, (key, value)| setup.set(key, value));
        let starts = patience::STARTS.into_iter();
        starts.fold(setup, |setup, (key, value)| setup.set_invokers(key, value))
    }

    /// The same with the default settings, except for how long a stop may take: for measurements.
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
            partition: false,
            redis: false,
            flushes: true,
            flags: Vec::new(),
            lines: String::new(),
            invoker_flags: Vec::new(),
            distribution: None,
            limit: Duration::from_secs(1800),
        }
    }

    /// Sets the number of controllers. Several ones share a PostgreSQL and an S3 server, which the cluster starts.
    pub fn controllers(mut self, count: usize) -> Self {
        self.controllers = count;
        self
    }

    /// Sets the number of invokers.
    pub fn invokers(mut self, count: usize) -> Self {
        self.invokers = count;
        self
    }

    /// Uses another driver for an invoker.
    pub fn driver_of(mut self, invoker: usize, driver: Driver) -> Self {
        self.others.insert(invoker, driver);
        self
    }

    /// Runs all nodes as root.
    pub fn as_root(mut self) -> Self {
        self.rooted = true;
        self
    }

    /// Sets the number of workers that each invoker runs at once.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Puts an invoker on a separate machine, which can be cut off.
    pub fn remote(mut self, invoker: usize) -> Self {
        self.remote.push(invoker);
        self
    }

    /// Gives every node a clock of its own, which can be set.
    pub fn clocks(mut self) -> Self {
        self.clocks = true;
        self
    }

    /// Allows a partition between the controllers.
    pub fn partition(mut self) -> Self {
        self.partition = true;
        self
    }

    /// Starts a Redis server, as the backend `redis-list`.
    pub fn redis(mut self) -> Self {
        self.redis = true;
        self
    }

    /// Sets a setting of the controllers.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.flags
            .extend(["--set".to_owned(), format!("{key}={value}")]);
        self
    }

    /// Adds a line to the configuration file shared by several controllers, for settings that are not Burst's own.
    pub fn line(mut self, line: &str) -> Self {
        self.lines += line;
        self.lines.push('\n');
        self
    }

    /// Sets a setting of the invokers.
    pub fn set_invokers(mut self, key: &str, value: &str) -> Self {
        self.invoker_flags
            .extend(["--set".to_owned(), format!("{key}={value}")]);
        self
    }

    /// Starts all nodes from this distribution, which can be another release's, until it is
    /// [changed](super::Cluster::set_distribution).
    pub fn distribution(mut self, distribution: Option<PathBuf>) -> Self {
        self.distribution = distribution;
        self
    }

    /// Returns whether nodes have certificates from an authority instead of a shared key.
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

//! The configuration of a platform under test.

use std::time::Duration;

use crate::account::Account;
use crate::driver::Driver;
use crate::patience;

/// Settings of a platform, each as a flag of `burst standalone`.
#[derive(Debug, Clone)]
pub struct Settings {
    driver: Driver,
    slots: u32,
    prewarmed: u32,
    flags: Vec<String>,
    prefix: Vec<String>,
    root: bool,
    limit: Duration,
}

impl Settings {
    /// Eight slots, this driver, nothing pre-warmed (so that all packs are what flares have left), generous limits for
    /// starts and stops on a busy machine, and defaults for everything else. A platform that lives longer than half an
    /// hour is considered hung and killed.
    pub fn new(driver: Driver) -> Self {
        Self {
            driver,
            slots: 8,
            prewarmed: 0,
            flags: Vec::new(),
            prefix: Vec::new(),
            root: false,
            limit: Duration::from_secs(1800),
        }
    }

    /// Drivers that isolate packs: containers, and sandboxes with control groups and without.
    pub fn isolated() -> [Self; 3] {
        [
            Self::new(Driver::Docker),
            Self::new(Driver::Sandbox).as_root(),
            Self::new(Driver::Sandbox),
        ]
    }

    /// Sets how many workers run at once.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self
    }

    /// Sets how long an unused pack stays warm.
    pub fn idle_timeout(self, time: Duration) -> Self {
        self.flag("--idle-timeout", format!("{}ms", time.as_millis()))
    }

    /// Sets how many containers are kept ready for any definition.
    pub fn prewarmed(mut self, count: u32) -> Self {
        self.prewarmed = count;
        self
    }

    /// Makes `name` at `uri` the backend of flares that name none.
    pub fn backend(self, name: &str, uri: &str) -> Self {
        self.flag("--backend", format!("{name}={uri}"))
            .flag("--default-backend", name)
    }

    /// Sets any setting of a module's `reference.conf`.
    pub fn set(self, key: &str, value: &str) -> Self {
        self.flag("--set", format!("{key}={value}"))
    }

    /// Sets how long the platform may live.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Adds any flag of `burst standalone`.
    pub fn flag(mut self, name: &str, value: impl Into<String>) -> Self {
        self.flags.extend([name.to_owned(), value.into()]);
        self
    }

    /// Adds any flag without a value.
    pub fn switch(mut self, name: &str) -> Self {
        self.flags.push(name.to_owned());
        self
    }

    /// Runs the platform as root instead of an ordinary user.
    pub fn as_root(mut self) -> Self {
        self.root = true;
        self
    }

    /// Runs a shell script before the platform starts, which prepares its environment.
    pub fn surroundings(mut self, script: &str) -> Self {
        let words = ["sh", "-c", &format!("{script} && exec \"$@\""), "sh"];
        self.prefix = words.map(String::from).to_vec();
        self
    }

    #[track_caller]
    pub(crate) fn account(&self) -> Account {
        if self.root {
            Account::root()
        } else {
            Account::ordinary(self.driver)
        }
    }

    pub(crate) fn prefix(&self) -> &[String] {
        &self.prefix
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["standalone", "--port", "0"].map(String::from).to_vec();
        arguments.extend(["--driver".into(), self.driver.name().into()]);
        arguments.extend(["--slots".into(), self.slots.to_string()]);
        let prewarmed = format!("burst.invoker.prewarmed={}", self.prewarmed);
        arguments.extend(["--set".into(), prewarmed]);
        // Several checkouts can share a daemon.
        let image = std::env::var("BURST_TEST_IMAGE");
        if let (true, Ok(image)) = (self.driver.has_containers(), image) {
            arguments.extend(["--image".into(), image]);
        }
        arguments.extend(patience::all());
        arguments.extend(self.flags.iter().cloned());
        arguments
    }

    /// Returns whether a platform started with these settings can be lent for the other ones.
    pub(crate) fn start_the_same(&self, other: &Self) -> bool {
        self.root == other.root
            && self.prefix == other.prefix
            && self.arguments() == other.arguments()
    }

    /// Returns whether pre-warmed containers exist before any flare; a flare replaces those it uses.
    pub(crate) fn prewarms(&self) -> bool {
        self.prewarmed > 0
    }

    pub(crate) fn lifetime(&self) -> Duration {
        self.limit
    }

    pub(crate) fn driver(&self) -> Driver {
        self.driver
    }

    pub(crate) fn slot_count(&self) -> u32 {
        self.slots
    }
}

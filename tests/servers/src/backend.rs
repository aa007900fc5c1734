//! The servers of backends, by kind: what tests of every backend and benchmarks need to know of them.

use crate::{RabbitMq, Redis, S3Process, S3Server};

/// What the messages of a backend go through. Ends when dropped.
pub trait BackendServer: Send + Sync {
    /// The backend's address, with who may do anything.
    fn uri(&self) -> String;

    /// What lets anybody do anything on it, and is told to nobody; some have none.
    fn secret(&self) -> Option<&str>;

    /// What flares have left on it: nothing, once it is cleaned up behind them.
    fn left_behind(&self) -> Vec<String>;
}

/// How backends come by their server.
#[derive(Debug)]
pub struct ServerKind {
    backends: &'static [&'static str],
    /// For tests of the library, which harm it not: their own, or shared where it takes long to start.
    pub for_tests: fn() -> Box<dyn BackendServer>,
    /// For a platform, at one of this machine's addresses.
    pub at: fn(&str) -> Box<dyn BackendServer>,
    /// Nobody else's, in processes of its own, with nothing beside what is measured.
    pub measured: fn() -> Box<dyn BackendServer>,
}

/// By the kinds of backends that have a server.
const KINDS: &[ServerKind] = &[
    ServerKind {
        backends: &["redis-list", "redis-stream"],
        for_tests: || Box::new(Redis::start()),
        at: |host| Box::new(Redis::start_at(host)),
        measured: || Box::new(Redis::start()),
    },
    ServerKind {
        backends: &["rabbitmq"],
        for_tests: || Box::new(RabbitMq::shared()),
        at: |host| Box::new(RabbitMq::lent_at(host)),
        measured: || Box::new(RabbitMq::start("")),
    },
    ServerKind {
        backends: &["s3"],
        for_tests: || Box::new(S3Server::shared()),
        at: |host| Box::new(S3Process::start_at(host)),
        measured: || Box::new(S3Process::of_this_program()),
    },
];

/// How a backend comes by its server; `None` for those that have none.
pub fn of(backend: &str) -> Option<&'static ServerKind> {
    KINDS.iter().find(|kind| kind.backends.contains(&backend))
}

/// One that others use, too.
impl<S: BackendServer + ?Sized> BackendServer for &S {
    fn uri(&self) -> String {
        (**self).uri()
    }

    fn secret(&self) -> Option<&str> {
        (**self).secret()
    }

    fn left_behind(&self) -> Vec<String> {
        (**self).left_behind()
    }
}

impl BackendServer for Redis {
    fn uri(&self) -> String {
        self.uri()
    }

    fn secret(&self) -> Option<&str> {
        Some(self.password())
    }

    fn left_behind(&self) -> Vec<String> {
        let mut users = self.users();
        users.retain(|user| user != "default");
        let databases = (0..16).map(|database| self.keys_in(database));
        databases.chain([users]).flatten().collect()
    }
}

impl BackendServer for RabbitMq {
    /// With where the management API is, which only what makes users for flares looks at.
    fn uri(&self) -> String {
        self.managed_uri()
    }

    fn secret(&self) -> Option<&str> {
        Some(crate::rabbitmq::PASSWORD)
    }

    fn left_behind(&self) -> Vec<String> {
        let mut users = self.ask(&["list_users"]);
        users.retain(|line| line.split('\t').next() != Some(crate::rabbitmq::USER));
        let mut hosts = self.ask(&["list_vhosts", "name"]);
        hosts.retain(|host| host != "/");
        [users, hosts].concat()
    }
}

impl BackendServer for S3Server {
    fn uri(&self) -> String {
        self.uri()
    }

    fn secret(&self) -> Option<&str> {
        Some(crate::s3::SECRET)
    }

    fn left_behind(&self) -> Vec<String> {
        self.objects("")
    }
}

impl BackendServer for S3Process {
    fn uri(&self) -> String {
        self.uri().to_owned()
    }

    fn secret(&self) -> Option<&str> {
        Some(self.secret())
    }

    fn left_behind(&self) -> Vec<String> {
        self.objects()
    }
}

//! The servers of backends, by kind: what tests of every backend and benchmarks need to know of them.

use crate::{RabbitMq, Redis, S3Process, S3Server};

/// The server that carries the messages of a backend. It ends when dropped.
pub trait BackendServer: Send + Sync {
    /// The backend's address, with credentials that allow everything.
    fn uri(&self) -> String;

    /// The secret that gives full access to the server and must not be disclosed; some servers have none.
    fn secret(&self) -> Option<&str>;

    /// What flares have left on the server: nothing once it has been cleaned up after them.
    fn left_behind(&self) -> Vec<String>;
}

/// How to obtain the server of a backend.
#[derive(Debug)]
pub struct ServerKind {
    backends: &'static [&'static str],
    /// For tests of the library, which do not harm it: a server of their own, or a shared one if it takes long to
    /// start.
    pub for_tests: fn() -> Box<dyn BackendServer>,
    /// For a platform, at one of this machine's addresses.
    pub at: fn(&str) -> Box<dyn BackendServer>,
    /// For measurements: a server used by nobody else, in processes of its own, with nothing else running in it.
    pub measured: fn() -> Box<dyn BackendServer>,
}

/// The kinds of backends that have a server.
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

/// Returns how to obtain the server of a backend; `None` if the backend has no server.
pub fn of(backend: &str) -> Option<&'static ServerKind> {
    KINDS.iter().find(|kind| kind.backends.contains(&backend))
}

/// A server that others use, too.
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
    /// The address with that of the management API, which is used only to create users for flares.
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

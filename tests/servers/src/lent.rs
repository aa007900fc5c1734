//! RabbitMQ nodes that serve one test after another: starting one takes seconds and most of a processor.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{BackendServer, RabbitMq};

/// The nodes that are not lent out. They end with this process.
static IDLE: Mutex<Vec<RabbitMq>> = Mutex::new(Vec::new());

/// A node that nobody else uses until this is dropped.
#[derive(Debug)]
pub struct LentRabbitMq(Option<RabbitMq>);

impl RabbitMq {
    /// Lends a node with the management API, at one of this machine's addresses. Others may have used it before; they
    /// left it clean.
    pub fn lent_at(host: &str) -> LentRabbitMq {
        let found = {
            let mut idle = idle();
            let at = idle.iter().position(|server| server.host() == host);
            at.map(|at| idle.remove(at))
        };
        LentRabbitMq(Some(found.unwrap_or_else(|| Self::managed_at(host))))
    }
}

impl Deref for LentRabbitMq {
    type Target = RabbitMq;

    fn deref(&self) -> &RabbitMq {
        let server = self.0.as_ref();
        server.expect("it is there until this is dropped")
    }
}

impl Drop for LentRabbitMq {
    fn drop(&mut self) {
        // A node is not reused after a failed test, which may have left anything on it.
        let server = self.0.take().filter(|_| !thread::panicking());
        idle().extend(server);
    }
}

impl BackendServer for LentRabbitMq {
    fn uri(&self) -> String {
        BackendServer::uri(&**self)
    }

    fn secret(&self) -> Option<&str> {
        BackendServer::secret(&**self)
    }

    fn left_behind(&self) -> Vec<String> {
        BackendServer::left_behind(&**self)
    }
}

fn idle() -> MutexGuard<'static, Vec<RabbitMq>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The connections of a pack to the server, which last from one flare to the next.

use parking_lot::Mutex;

use super::resp::Client;
use super::server::Server;
use crate::error::Error;
use crate::remote::pool::Pool;

/// Connections for sending, shared by the workers of a pack.
const WRITING: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) server: Server,
    /// For messages.
    pub(super) pool: Pool<Client>,
    /// For control frames.
    pub(super) control: Mutex<ControlConnection>,
    /// Those of reading threads that have ended with their flare.
    pub(super) reading: Mutex<Vec<Client>>,
}

#[derive(Debug)]
pub(super) enum ControlConnection {
    Open(Client),
    /// The last one broke; the next frame needs a new one.
    Broken,
    /// Whoever reports a failure does not wait for a dead server twice.
    GivenUp,
}

impl Connections {
    /// The first one; others are made when they are needed.
    pub(super) fn open(server: Server) -> Result<Self, Error> {
        Ok(Self {
            pool: Pool::new(WRITING),
            control: Mutex::new(ControlConnection::Open(super::connect(&server)?)),
            reading: Mutex::default(),
            server,
        })
    }

    /// The next flare begins: a server that did not answer in the last one is asked again.
    pub(super) fn renew(&self) {
        let mut control = self.control.lock();
        if let ControlConnection::GivenUp = *control {
            *control = ControlConnection::Broken;
        }
    }

    /// Closes all that nobody is using, and lets nobody have one any more.
    pub(super) fn close(&self) {
        drop(self.pool.close());
        *self.control.lock() = ControlConnection::GivenUp;
        self.reading.lock().clear();
    }
}

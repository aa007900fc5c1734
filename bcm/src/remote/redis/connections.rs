//! The connections of a pack to the server, which outlive a flare.

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
    /// Connections of reading threads that ended with their flare.
    pub(super) reading: Mutex<Vec<Client>>,
}

#[derive(Debug)]
pub(super) enum ControlConnection {
    Open(Client),
    /// The last one broke; the next frame needs a new one.
    Broken,
    /// Reporting a failure must not wait for a dead server twice.
    GivenUp,
}

impl Connections {
    /// Opens the first connection; others are opened when they are needed.
    pub(super) fn open(server: Server) -> Result<Self, Error> {
        Ok(Self {
            pool: Pool::new(WRITING),
            control: Mutex::new(ControlConnection::Open(super::connect(&server)?)),
            reading: Mutex::default(),
            server,
        })
    }

    /// The next flare begins: a server that did not answer in the last one is tried again.
    pub(super) fn renew(&self) {
        let mut control = self.control.lock();
        if let ControlConnection::GivenUp = *control {
            *control = ControlConnection::Broken;
        }
    }

    /// Closes all unused connections; nobody can acquire one any more.
    pub(super) fn close(&self) {
        drop(self.pool.close());
        *self.control.lock() = ControlConnection::GivenUp;
        self.reading.lock().clear();
    }
}

//! What both backends use in one flare: threads that read, connections to write on, and a
//! heartbeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::connections::Connections;
use super::heartbeat::{Count, Heartbeat};
use super::resp::Exchange;
use super::resp_error::RespError;
use super::threads::{Task, Threads};
use super::writer::Writer;
use crate::config::PackConfig;
use crate::error::Error;
use crate::remote::Frame;
use crate::remote::inbox::Inbox;
use crate::wire::{Header, Kind};

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Session {
    connections: Arc<Connections>,
    pub(super) writer: Writer,
    threads: Threads,
    heartbeat: Heartbeat,
    inbox: Arc<Inbox>,
    left: AtomicBool,
}

impl Session {
    /// Starts the reading threads and the heartbeat.
    pub(super) fn begin<T: Task>(
        connections: Arc<Connections>,
        config: &PackConfig,
        inbox: Arc<Inbox>,
        readers: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        let writer = Writer::new(
            Arc::clone(&connections),
            config.deadline,
            Arc::clone(&inbox),
        );
        let threads = Threads::new(&connections, Arc::clone(&inbox));
        for reader in readers {
            threads.spawn(reader)?;
        }
        let heartbeat = Heartbeat::begin(config, &writer, &threads)?;
        Ok(Self {
            connections,
            writer,
            threads,
            heartbeat,
            inbox,
            left: AtomicBool::new(false),
        })
    }

    /// The counter to increment after each batch of messages, if the pack can continue after its
    /// connections broke.
    pub(super) fn count(&self) -> &Count {
        &self.heartbeat.count
    }

    pub(super) fn start(&self) {
        self.heartbeat.start();
    }

    /// The connections, for the next flare.
    pub(super) fn connections(&self) -> Arc<Connections> {
        self.connections.renew();
        Arc::clone(&self.connections)
    }

    /// Ends the threads and says goodbye; the connections stay. `wake` writes a frame to every key
    /// that a thread reads, and returns the number of replies to expect. `own` are the keys that no
    /// other pack reads.
    pub(super) fn leave(
        &self,
        own: &[String],
        mut wake: impl FnMut(&mut Exchange<'_>, &Frame<'_>) -> Result<usize, RespError>,
    ) {
        let config = self.inbox.config();
        let frame = Frame {
            header: Header::notice(Kind::Credit, config.flare, config.pack, 0),
            payload: &[],
        };
        self.threads
            .leave(|| self.writer.control(|exchange| wake(exchange, &frame)));
        self.take_leave(own);
    }

    /// Says goodbye unless that is done, and ends threads and connections.
    pub(super) fn close(&self, own: &[String]) {
        self.threads.close();
        self.take_leave(own);
        self.connections.close();
    }

    fn take_leave(&self, own: &[String]) {
        if self.left.swap(true, Ordering::AcqRel) {
            return;
        }
        let _ = self.heartbeat.leave(&self.writer);
        self.writer.delete(own);
    }
}

//! What is on its way to the client: the events of a flare as lines, gathered for a moment.

use std::time::Duration;

use burst_protocol::{LogStream, PackEvent, RunPack, Timestamp};
use bytes::{BufMut, BytesMut};
use serde::Serialize;
use tokio::time::Instant;

use crate::limits;
use crate::log_buffer::LogBuffer;
use crate::output;

/// Events and lines of logs that wait to leave.
pub(super) struct Outbox {
    log: LogBuffer,
    pending: BytesMut,
    /// When what is pending leaves.
    leaves_at: Option<Instant>,
    /// How long the word that workers have begun may wait for that of their end.
    start_waits: Duration,
}

impl Outbox {
    pub(super) fn new(run: &RunPack) -> Self {
        Self {
            log: LogBuffer::new(run.workers(), run.log_limit()),
            pending: BytesMut::new(),
            leaves_at: None,
            // Nobody waits for the only pack of a flare to come up.
            start_waits: match run.autostart {
                true => limits::TOGETHER,
                false => Duration::ZERO,
            },
        }
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len() + self.log.waiting()
    }

    /// When what waits leaves.
    pub(super) fn leaves_at(&self) -> Option<Instant> {
        self.leaves_at
    }

    pub(super) fn say(
        &mut self,
        worker: Option<u32>,
        stream: LogStream,
        text: &str,
        at: Timestamp,
    ) {
        self.log.append(worker, stream, text, at);
        self.leave_within(limits::GATHERING);
    }

    /// An event that is no line of a log. A worker's end comes after what it has said.
    pub(super) fn put(&mut self, event: &PackEvent) {
        if let PackEvent::WorkerSucceeded { worker, .. } | PackEvent::WorkerFailed { worker, .. } =
            event
        {
            let said = self.log.take_of(*worker);
            said.iter().for_each(|event| self.emit(event));
        }
        match event {
            PackEvent::WorkerSucceeded { worker, output, at } => {
                for event in output::events(*worker, output.get(), *at) {
                    self.write(&event, Duration::ZERO);
                }
            }
            _ => self.emit(event),
        }
    }

    /// All that is there.
    pub(super) fn take(&mut self) -> BytesMut {
        self.gather();
        self.leaves_at = None;
        self.pending.split()
    }

    /// Nothing more will be said.
    pub(super) fn close_logs(&mut self) {
        self.log.close();
        self.gather();
    }

    fn gather(&mut self) {
        let said = self.log.take();
        said.iter().for_each(|event| self.emit(event));
    }

    fn emit(&mut self, event: &PackEvent) {
        self.write(event, self.longest_wait(event));
    }

    /// Adds an event to those that are to leave, within `wait`.
    fn write(&mut self, event: &impl Serialize, wait: Duration) {
        let start = self.pending.len();
        // Events are plain data, which always has a JSON form.
        if serde_json::to_writer((&mut self.pending).writer(), event).is_err() {
            self.pending.truncate(start);
            return;
        }
        // Within JSON a line break can only be white space, but here it would end the event.
        for byte in &mut self.pending[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.pending.extend_from_slice(b"\n");
        self.leave_within(wait);
    }

    /// Pending events leave within this time, or at once if there are many.
    fn leave_within(&mut self, wait: Duration) {
        if self.waiting() == 0 {
            return;
        }
        let at = match self.waiting() < limits::GATHERED {
            true => Instant::now() + wait,
            false => Instant::now(),
        };
        self.leaves_at = Some(self.leaves_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// How long an event may wait for others to leave with. A program may log and mark phases all the
    /// time; each line by itself would cost whoever reads them more than the program's own work.
    fn longest_wait(&self, event: &PackEvent) -> Duration {
        match event {
            PackEvent::Log { .. } | PackEvent::Phase { .. } => limits::GATHERING,
            PackEvent::Ready { .. } | PackEvent::WorkerStarted { .. } => self.start_waits,
            _ => Duration::ZERO,
        }
    }
}

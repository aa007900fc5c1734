//! The events of a flare on their way to the client, as lines that are gathered for a moment.

use std::time::Duration;

use burst_protocol::{LogStream, PackEvent, RunPack, Timestamp};
use bytes::{BufMut, BytesMut};
use serde::Serialize;
use tokio::time::Instant;

use crate::limits;
use crate::log_buffer::LogBuffer;
use crate::output;

/// Events and lines of logs that wait to be sent.
pub(super) struct Outbox {
    log: LogBuffer,
    pending: BytesMut,
    /// When the pending lines are to be sent.
    leaves_at: Option<Instant>,
    /// How long events about the beginning of workers may wait for those about their end.
    start_waits: Duration,
}

impl Outbox {
    pub(super) fn new(run: &RunPack) -> Self {
        Self {
            log: LogBuffer::new(run.workers(), run.log_limit()),
            pending: BytesMut::new(),
            leaves_at: None,
            // Nobody waits for the only pack of a flare to become ready.
            start_waits: match run.autostart {
                true => limits::TOGETHER,
                false => Duration::ZERO,
            },
        }
    }

    /// Returns how many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len() + self.log.waiting()
    }

    /// Returns when the pending lines are to be sent.
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

    /// Adds an event that is not a line of a log. A worker's end comes after its lines.
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

    /// Takes everything that waits.
    pub(super) fn take(&mut self) -> BytesMut {
        self.gather();
        self.leaves_at = None;
        self.pending.split()
    }

    /// Closes the logs, as no more lines will come.
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

    /// Adds an event to the pending ones, to be sent within `wait`.
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

    /// Has the pending events sent within this time, or immediately if there are many.
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

    /// Returns how long an event may wait to be sent together with others. A program may log and mark phases all the
    /// time; sending each line separately would cost its readers more than the program's own work.
    fn longest_wait(&self, event: &PackEvent) -> Duration {
        match event {
            PackEvent::Log { .. } | PackEvent::Phase { .. } => limits::GATHERING,
            PackEvent::Ready { .. } | PackEvent::WorkerStarted { .. } => self.start_waits,
            _ => Duration::ZERO,
        }
    }
}

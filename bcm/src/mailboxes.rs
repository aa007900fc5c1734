//! The mailboxes that hold the messages for a pack's workers.

use crate::call_history::CallHistories;
use crate::local::Mailbox;

/// The mailboxes of a pack.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    pub(crate) first_worker: u32,
    workers: Vec<Mailbox>,
    /// Holds messages to the pack as a whole; the leader in a collective takes them from here.
    pack: Mailbox,
    /// The collectives that the workers of this pack have called.
    pub(crate) histories: CallHistories,
}

impl Mailboxes {
    pub(crate) fn new(first_worker: u32, workers: u32) -> Self {
        Self {
            first_worker,
            workers: (0..workers)
                .map(|_| Mailbox::new(first_worker, workers))
                .collect(),
            pack: Mailbox::new(first_worker, 0),
            histories: CallHistories::default(),
        }
    }

    /// The mailbox of a worker of this pack, `None` for any other worker.
    pub(crate) fn of(&self, worker: u32) -> Option<&Mailbox> {
        let index = worker.checked_sub(self.first_worker)?;
        self.workers.get(index as usize)
    }

    pub(crate) fn of_pack(&self) -> &Mailbox {
        &self.pack
    }

    pub(crate) fn wake_all(&self) {
        for mailbox in self.workers.iter().chain([&self.pack]) {
            mailbox.wake_all();
        }
    }
}

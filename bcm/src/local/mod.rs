//! Messages inside a pack: the sender puts the value itself into the receiver's mailbox.

mod channel;
mod claim;
mod erased;
#[cfg(all(test, burst_loom))]
mod loom;
mod mailbox;
mod primitives;
mod remote_queue;
mod ring;
mod unexpected;
mod waiters;
mod waker;

pub(crate) use erased::ErasedValue;
pub(crate) use mailbox::{Mailbox, RemoteProgress};
pub(crate) use unexpected::MatchSpec;
pub(crate) use waker::{ConnectionWait, Waker};

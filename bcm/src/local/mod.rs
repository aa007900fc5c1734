//! Messages inside a pack: the sender puts the value itself into the receiver's mailbox.

mod bell;
mod carried;
mod claim;
mod kept;
mod lane;
#[cfg(all(test, burst_loom))]
mod loom;
mod mailbox;
mod primitives;
mod ring;
mod sleepers;
mod tray;

pub(crate) use bell::{Bell, Sleeper};
pub(crate) use carried::Carried;
pub(crate) use kept::Want;
pub(crate) use mailbox::{Afar, Mailbox};

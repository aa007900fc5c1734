//! Messages inside a pack: the sender puts the value itself into the receiver's mailbox.

mod mailbox;

pub(crate) use mailbox::{Mailbox, Want};

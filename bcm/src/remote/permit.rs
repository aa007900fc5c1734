//! The room that messages from other packs take in this pack.

use std::sync::Weak;

use crate::pack_id::PackId;

/// The owner of the room.
pub(super) trait Release: Send + Sync {
    /// Called when a worker has taken a message: its room is free again.
    fn release(&self, pack: PackId, cost: u64, eager: bool);
}

/// The room a message takes until a worker takes it. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(super) owner: Weak<dyn Release>,
    pub(super) pack: PackId,
    pub(super) cost: u64,
    /// Whether the message came eagerly, through the sender's window.
    pub(super) eager: bool,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.release(self.pack, self.cost, self.eager);
        }
    }
}

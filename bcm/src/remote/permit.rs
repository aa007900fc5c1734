//! The room that messages from other packs take here.

use std::sync::Weak;

use crate::pack_id::PackId;

/// Whose room it is.
pub(super) trait Release: Send + Sync {
    /// A message has become a worker's own: its room is free again.
    fn release(&self, pack: PackId, cost: u64, eager: bool);
}

/// The room a message takes until a worker has it. Gives it back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(super) owner: Weak<dyn Release>,
    pub(super) pack: PackId,
    pub(super) cost: u64,
    /// Whether it came eagerly, through the sender's window.
    pub(super) eager: bool,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.release(self.pack, self.cost, self.eager);
        }
    }
}

//! `memory`: packs in one process, for tests. The sending thread hands each frame to the other
//! pack's inbox.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use super::inbox::Inbox;
use super::kind::BackendKind;
use super::{Backend, Frame};
use crate::cancellation::WaitBudget;
use crate::config::PackConfig;
use crate::error::Error;
use crate::pack_id::PackId;
use crate::wire::Header;

const NAME: &str = "memory";

pub(super) const KIND: BackendKind = BackendKind::new(NAME);

/// Inboxes by flare and pack.
type Packs = HashMap<(String, PackId), Weak<Inbox>>;

/// The registry of inboxes: packs in one process have no other way to find each other.
static PACKS: LazyLock<Mutex<Packs>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Memory {
    flare_id: String,
    pack: PackId,
}

pub(super) fn open(config: &PackConfig, inbox: Arc<Inbox>) -> Result<Arc<dyn Backend>, Error> {
    let key = (config.flare_id.clone(), config.pack);
    PACKS.lock().insert(key, Arc::downgrade(&inbox));
    Ok(Arc::new(Memory {
        flare_id: config.flare_id.clone(),
        pack: config.pack,
    }))
}

impl Memory {
    fn peer(&self, pack: PackId) -> Result<Arc<Inbox>, Error> {
        let packs = PACKS.lock();
        let peer = packs.get(&(self.flare_id.clone(), pack));
        let gone = || "it is not in this process".to_owned();
        peer.and_then(Weak::upgrade)
            .ok_or_else(|| Error::of_backend(NAME, Some(pack), gone()))
    }

    /// Behaves like a reader of bytes: a damaged frame fails the other pack.
    fn hand_over(&self, pack: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        let peer = self.peer(pack)?;
        let accepted = Header::decode(&frame.seal()).and_then(|header| {
            header.verify(frame.payload)?;
            peer.accept(&header, frame.payload)
        });
        if let Err(error) = accepted {
            peer.refused(None, &error);
        }
        Ok(())
    }
}

impl Backend for Memory {
    fn send(
        &self,
        to: &[PackId],
        frames: &[Frame<'_>],
        _budget: &mut WaitBudget<'_>,
    ) -> Result<(), Error> {
        to.iter().try_for_each(|&pack| {
            let mut frames = frames.iter();
            frames.try_for_each(|frame| self.hand_over(pack, frame))
        })
    }

    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        self.hand_over(to, frame)
    }

    fn close(&self) {
        PACKS.lock().remove(&(self.flare_id.clone(), self.pack));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.close();
    }
}

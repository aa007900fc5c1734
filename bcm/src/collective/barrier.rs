//! Barrier: fan-in to the pack's leader, rounds between leaders, fan-out.

use std::sync::Arc;

use super::{Call, NO_ROOT};
use crate::collective::reduce::Slots;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;

impl Communicator {
    /// Returns when every worker has called it.
    ///
    /// Cost: `pack_size - 1` local messages in and out, and `log2(num_packs)` empty messages per
    /// pack.
    ///
    /// # Errors
    /// Those of every operation, and [`Error::CollectiveMismatch`] when another worker called
    /// something else.
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 1], &BackendConfig::new("memory"), |worker| {
    ///     worker.barrier()
    /// });
    /// assert_eq!(results, [Ok(()), Ok(()), Ok(())]);
    /// ```
    pub fn barrier(&self) -> Result<(), Error> {
        self.noted(barrier(self))
    }
}

fn barrier(communicator: &Communicator) -> Result<(), Error> {
    let mut call = Call::begin::<()>(communicator, Operation::Barrier, NO_ROOT)?;
    let group = call.group;
    let ranks = &group.own_pack().ranks;
    let me = ranks.partition_point(|&rank| rank < group.rank);
    let slots = Slots {
        rank: &|slot| ranks[slot],
        me,
        count: ranks.len(),
        target: 0,
    };
    let arrived = slots.fold_in_pack(&mut call, (), &|(), ()| ())?;
    if arrived.is_none() {
        call.take_shared::<()>(ranks[0])?;
        return Ok(());
    }
    // Dissemination: after round k each leader has heard from 2^k packs, itself included.
    let packs = group.packs();
    let (mine, count) = (group.own_pack_index(), packs.len());
    let mut distance = 1;
    while distance < count {
        let to = packs[(mine + distance) % count].ranks[0];
        let from = packs[(mine + count - distance) % count].ranks[0];
        call.exchange(Some((to, ())), Some(from))?;
        distance *= 2;
    }
    call.share(&Arc::new(()))
}

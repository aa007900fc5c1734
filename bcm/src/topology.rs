//! Which worker is in which pack.

use std::ops::Range;

use crate::error::Error;
use crate::invalid::InvalidConfiguration;
use crate::pack_id::PackId;

/// The packs of a flare and the workers in each.
///
/// Worker ids are contiguous: pack 0 holds the first ones, pack 1 the next, and so on.
///
/// ```
/// use burst_bcm::{PackId, Topology};
///
/// let topology = Topology::new(&[3, 1, 4])?;
/// assert_eq!(topology.burst_size(), 8);
/// assert_eq!(topology.pack_of(3), Some(PackId(1)));
/// assert_eq!(topology.workers_of(PackId(2)), Some(4..8));
/// # Ok::<(), burst_bcm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// First worker of each pack, then the number of workers.
    starts: Vec<u32>,
}

impl Topology {
    /// The topology of packs of these sizes.
    ///
    /// # Errors
    /// [`Error::InvalidConfiguration`] when there is no pack, a pack is empty, or there are
    /// more workers than a `u32` can number.
    pub fn new(pack_sizes: &[u32]) -> Result<Self, Error> {
        if pack_sizes.is_empty() {
            return Err(InvalidConfiguration::NoPack.into());
        }
        let mut starts = Vec::with_capacity(pack_sizes.len() + 1);
        let mut next = 0u32;
        for &size in pack_sizes {
            if size == 0 {
                return Err(InvalidConfiguration::EmptyPack.into());
            }
            starts.push(next);
            // The last number stands for "every worker of a pack" on the wire.
            next = match next.checked_add(size) {
                Some(sum) if sum < u32::MAX => sum,
                _ => return Err(InvalidConfiguration::TooManyWorkers.into()),
            };
        }
        starts.push(next);
        Ok(Self { starts })
    }

    /// One pack of this many workers.
    ///
    /// # Errors
    /// Same as [`Topology::new`].
    pub fn single(workers: u32) -> Result<Self, Error> {
        Self::new(&[workers])
    }

    /// Number of workers.
    pub fn burst_size(&self) -> u32 {
        self.starts[self.starts.len() - 1]
    }

    /// Number of packs.
    pub fn num_packs(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    pub(crate) fn packs(&self) -> impl Iterator<Item = PackId> {
        PackId::all(self.num_packs())
    }

    /// The pack a worker is in; `None` for a worker that does not exist.
    pub fn pack_of(&self, worker: u32) -> Option<PackId> {
        if worker >= self.burst_size() {
            return None;
        }
        let after = self.starts.partition_point(|&start| start <= worker) as u32;
        Some(PackId(after - 1))
    }

    /// The workers of a pack; `None` for a pack that does not exist.
    pub fn workers_of(&self, pack: PackId) -> Option<Range<u32>> {
        let pack = pack.index();
        let end = *self.starts.get(pack.checked_add(1)?)?;
        Some(self.starts[pack]..end)
    }

    /// Number of workers in a pack, 0 for one that does not exist.
    pub fn pack_size(&self, pack: PackId) -> u32 {
        self.workers_of(pack)
            .map_or(0, |workers| workers.end - workers.start)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_topologies_are_refused() {
        assert!(Topology::new(&[]).is_err());
        assert!(Topology::new(&[2, 0]).is_err());
        assert!(Topology::new(&[u32::MAX]).is_err());
        assert!(Topology::new(&[u32::MAX - 1, 2]).is_err());
    }

    proptest! {
        #[test]
        fn every_worker_is_in_exactly_one_pack(sizes in prop::collection::vec(1u32..9, 1..9)) {
            let topology = Topology::new(&sizes).unwrap();
            let mut next = 0;
            for (pack, &size) in sizes.iter().enumerate() {
                let pack = PackId(pack as u32);
                prop_assert_eq!(topology.workers_of(pack), Some(next..next + size));
                prop_assert_eq!(topology.pack_size(pack), size);
                for worker in next..next + size {
                    prop_assert_eq!(topology.pack_of(worker), Some(pack));
                }
                next += size;
            }
            prop_assert_eq!(topology.burst_size(), next);
            prop_assert_eq!(topology.pack_of(next), None);
            prop_assert_eq!(topology.workers_of(PackId(sizes.len() as u32)), None);
            prop_assert_eq!(topology.workers_of(PackId(u32::MAX)), None);
        }
    }
}

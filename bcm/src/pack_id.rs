//! Numbers of packs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a pack, in `0..num_packs()`. A separate type, as workers have numbers too.
///
/// ```
/// use burst_bcm::{PackId, Topology};
///
/// let topology = Topology::new(&[2, 2])?;
/// assert_eq!(topology.pack_of(3), Some(PackId(1)));
/// assert_eq!(topology.workers_of(PackId(1)), Some(2..4));
/// # Ok::<(), burst_bcm::Error>(())
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[repr(transparent)]
pub struct PackId(pub u32);

impl PackId {
    /// The packs of a flare that has this many, in order.
    pub(crate) fn all(packs: u32) -> impl Iterator<Item = Self> {
        (0..packs).map(Self)
    }

    /// All packs but this one, starting with the next one and wrapping around.
    pub(crate) fn others(self, packs: u32) -> impl Iterator<Item = Self> {
        (1..packs).map(move |distance| Self((self.0 + distance) % packs))
    }

    /// Its index in a list with one element for each pack.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

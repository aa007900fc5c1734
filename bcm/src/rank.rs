//! Numbers of a group's members.

/// The number of a member in its group, in `0..size()`. A separate type inside the library, as a
/// worker has a different rank in each group, and a worker id besides; see ADR 0102.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct Rank(pub(crate) u32);

impl Rank {
    /// The ranks of a group that has this many members, in order.
    pub(crate) fn all(size: u32) -> impl Iterator<Item = Self> {
        (0..size).map(Self)
    }

    /// Its index in a list with one element for each member.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Consecutive ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: Rank,
    /// The number of ranks, at least one.
    pub(crate) length: usize,
}

impl Run {
    pub(crate) fn ranks(self) -> impl Iterator<Item = Rank> {
        (self.first.0..self.end()).map(Rank)
    }

    /// The rank at this offset from the first one.
    pub(crate) fn rank(self, offset: usize) -> Rank {
        Rank(self.first.0 + offset as u32)
    }

    /// The offset of one of its ranks from the first one.
    pub(crate) fn offset(self, rank: Rank) -> usize {
        (rank.0 - self.first.0) as usize
    }

    /// The number after its last rank.
    pub(crate) fn end(self) -> u32 {
        self.first.0 + self.length as u32
    }
}

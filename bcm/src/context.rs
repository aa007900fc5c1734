//! Context ids: 32 bits in each message that say of which group it is.
//!
//! No message leaves its group's packs, so it is enough that in no pack two groups have the same id. Nothing more is
//! needed of all that is kept by id there: unexpected messages, streams and their names on servers, call histories.
//!
//! **Groups by `split`.** Each worker counts the splits it begins, on whichever group and in whichever thread. The
//! exchange that a split makes anyway tells the members each other's numbers, and a new group's id is that of the split
//! that its first member is in: (that worker, its number). A worker begins each number once and is first in one group of
//! a split at most, so that no two groups of a flare have the same pair, whether they share workers or not, and at
//! whatever time they live.
//!
//! **Groups by `my_pack` and `pack_leaders`** are made without an exchange, so each id comes with those of the
//! [relatives](Relation) of its group: the groups that are made from it that way. Of a relation there is one group in
//! each pack at most. The chain ends where it would repeat itself: a pack's members are their own pack.
//!
//! **The end.** Ids are not used again, so that what comes late is nobody else's. In 32 bits there are
//! [`numbers`] for each worker, after which its groups are refused with an error.
//!
//! **Liars.** Which worker is a group's first follows from what all were told, so a pack that lies about a number can
//! only repeat an id of a group that one of its own workers is first in, or have such a group refused. What comes of
//! that are errors in that flare, as of any other wrong message; other flares' messages are told apart before.

use crate::topology::Topology;

/// The group of all workers.
pub(crate) const WORLD: u32 = 0;
/// The number of a worker's first split; the one before stands for [`WORLD`].
pub(crate) const FIRST_NUMBER: u64 = 1;

/// What a group is to the one that it was made from without an exchange. Its place is the last digit of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// It was made by a split, or is [`WORLD`].
    Itself,
    /// Its members in a pack.
    Pack,
    /// The first of each pack.
    Leaders,
    /// The first of those in a pack, alone.
    LeaderOfPack,
    /// One of the first of each pack, as the one in its pack.
    PackOfLeader,
}

impl Relation {
    const ALL: [Self; 5] = [
        Self::Itself,
        Self::Pack,
        Self::Leaders,
        Self::LeaderOfPack,
        Self::PackOfLeader,
    ];

    fn of(context: u32) -> Self {
        Self::ALL[(context % RELATIONS) as usize]
    }

    /// The id of the relative of the same group.
    fn id(self, context: u32) -> u32 {
        context - context % RELATIONS + self as u32
    }
}

const RELATIONS: u32 = Relation::ALL.len() as u32;

/// How many numbers each worker of a flare has, the one of [`WORLD`] included.
pub(crate) fn numbers(topology: &Topology) -> u64 {
    (1 << 32) / u64::from(RELATIONS) / u64::from(topology.burst_size())
}

/// The id of a group that was split off; `None` when its first member has no such number.
pub(crate) fn of_split(first: u32, number: u64, topology: &Topology) -> Option<u32> {
    if !(FIRST_NUMBER..numbers(topology)).contains(&number) {
        return None;
    }
    let family = number * u64::from(topology.burst_size()) + u64::from(first);
    u32::try_from(family * u64::from(RELATIONS)).ok()
}

/// The id of the group of a group's members in a pack; `None` when that is the group itself.
pub(crate) fn of_my_pack(context: u32) -> Option<u32> {
    match Relation::of(context) {
        Relation::Itself => Some(Relation::Pack.id(context)),
        Relation::Leaders => Some(Relation::PackOfLeader.id(context)),
        Relation::Pack | Relation::LeaderOfPack | Relation::PackOfLeader => None,
    }
}

/// The id of the group of the first of each pack; `None` when that is the group itself.
pub(crate) fn of_pack_leaders(context: u32) -> Option<u32> {
    match Relation::of(context) {
        Relation::Itself => Some(Relation::Leaders.id(context)),
        Relation::Pack => Some(Relation::LeaderOfPack.id(context)),
        Relation::Leaders | Relation::LeaderOfPack | Relation::PackOfLeader => None,
    }
}

#[cfg(test)]
mod tests;

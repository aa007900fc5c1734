//! Context ids: 32 bits in each message that identify its group.
//!
//! No message leaves its group's packs, so it is enough that no two groups in a pack have the same id. That also
//! suffices for everything that is kept by id there: unexpected messages, streams and their names on servers, and
//! call histories.
//!
//! **Groups by `split`.** Each worker counts the splits it begins, across all groups and threads. The exchange that
//! is part of every split also gives the members each other's numbers, and a new group's id is made from its first
//! member: (that worker, its number of the split). A worker uses each number once and is the first member of at
//! most one group of a split, so no two groups of a flare have the same pair, whether or not they share workers or
//! exist at the same time.
//!
//! **Groups by `my_pack` and `pack_leaders`** are made without an exchange, so each id comes with the ids of its
//! group's [relatives](Relation): the groups that are derived from it this way. Each relation has at most one group
//! in each pack. The chain ends where it would repeat itself: the members of a pack are their own pack.
//!
//! **Exhaustion.** Ids are never reused, so a late message cannot be taken for another group's. In 32 bits there is
//! room for [`numbers`] numbers for each worker; after that, groups that it is the first member of are refused with
//! an error.
//!
//! **Lying packs.** Which worker is a group's first member follows from the data that all members received, so a
//! pack that lies about a number can only repeat an id of a group whose first member is one of its own workers, or
//! have such a group refused. Either causes errors in that flare, like any other wrong message; messages of other
//! flares are separated out before that.

use crate::topology::Topology;

/// The context id of the group of all workers.
pub(crate) const WORLD: u32 = 0;
/// The number of a worker's first split; the number before it stands for [`WORLD`].
pub(crate) const FIRST_NUMBER: u64 = 1;

/// How a group was derived, without an exchange, from another. The index of the relation is the last digit of the
/// group's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Not derived: made by a split, or [`WORLD`].
    Itself,
    /// Its members in one pack.
    Pack,
    /// The first member of each pack.
    Leaders,
    /// The first of its members in one pack, alone.
    LeaderOfPack,
    /// The first member in one pack, as that pack's part of `Leaders`.
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

    /// Returns the id of this relative of the same group.
    fn id(self, context: u32) -> u32 {
        context - context % RELATIONS + self as u32
    }
}

const RELATIONS: u32 = Relation::ALL.len() as u32;

/// Returns how many numbers each worker of a flare has, including the one that stands for
/// [`WORLD`].
pub(crate) fn numbers(topology: &Topology) -> u64 {
    (1 << 32) / u64::from(RELATIONS) / u64::from(topology.burst_size())
}

/// Returns the id of a group made by a split; `None` if its first member's number is out of range.
pub(crate) fn of_split(first: u32, number: u64, topology: &Topology) -> Option<u32> {
    if !(FIRST_NUMBER..numbers(topology)).contains(&number) {
        return None;
    }
    let family = number * u64::from(topology.burst_size()) + u64::from(first);
    u32::try_from(family * u64::from(RELATIONS)).ok()
}

/// Returns the id of the group of a group's members in one pack; `None` if that is the group
/// itself.
pub(crate) fn of_my_pack(context: u32) -> Option<u32> {
    match Relation::of(context) {
        Relation::Itself => Some(Relation::Pack.id(context)),
        Relation::Leaders => Some(Relation::PackOfLeader.id(context)),
        Relation::Pack | Relation::LeaderOfPack | Relation::PackOfLeader => None,
    }
}

/// Returns the id of the group of the first member of each pack; `None` if that is the group
/// itself.
pub(crate) fn of_pack_leaders(context: u32) -> Option<u32> {
    match Relation::of(context) {
        Relation::Itself => Some(Relation::Leaders.id(context)),
        Relation::Pack => Some(Relation::LeaderOfPack.id(context)),
        Relation::Leaders | Relation::LeaderOfPack | Relation::PackOfLeader => None,
    }
}

#[cfg(test)]
mod tests;

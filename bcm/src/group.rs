//! The workers that take part in a collective, and their distribution over packs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::call_history::{CallHistories, CallHistory, Caller};
use crate::context;
use crate::pack_id::PackId;
use crate::rank::{Rank, Run};
use crate::topology::Topology;

/// A group's members in one pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackMembers {
    pub(crate) pack: PackId,
    /// In ascending order; the first one is the pack's leader.
    pub(crate) ranks: Vec<Rank>,
}

/// A group as one of its members sees it. Ranks number the members; in the group of all workers
/// they are the worker ids.
#[derive(Debug)]
pub(crate) struct Group {
    /// Keeps messages of different groups apart; see [`crate::context`].
    pub(crate) context: u32,
    /// This member's rank.
    pub(crate) rank: Rank,
    /// The workers, by rank.
    members: Vec<u32>,
    packs: Vec<PackMembers>,
    own_pack: usize,
    /// This member's index among its pack's members.
    index_in_pack: usize,
    /// The longest runs of ranks within one pack, in rank order: a reduction can combine their
    /// values before any leave the pack, without changing the order.
    runs: Vec<Run>,
    /// The number of this member's next collective.
    next: AtomicU64,
    /// The number of this worker's next split, shared by all its groups.
    next_split: Arc<AtomicU64>,
    /// Created once, so that later callers continue its count of collectives.
    my_pack: OnceLock<Arc<Group>>,
    pack_leaders: OnceLock<Arc<Group>>,
    /// The collectives that the members in this pack have called.
    history: OnceLock<Arc<CallHistory>>,
}

impl Group {
    /// The group of all workers, seen by one of them.
    pub(crate) fn world(topology: &Topology, worker: u32) -> Self {
        let members = (0..topology.burst_size()).collect();
        let next_split = Arc::new(AtomicU64::new(context::FIRST_NUMBER));
        Self::new(context::WORLD, members, Rank(worker), topology, next_split)
    }

    fn new(
        context: u32,
        members: Vec<u32>,
        rank: Rank,
        topology: &Topology,
        next_split: Arc<AtomicU64>,
    ) -> Self {
        let mut packs: Vec<PackMembers> = Vec::new();
        let mut runs: Vec<Run> = Vec::new();
        let mut last = None;
        let (mut own_pack, mut index_in_pack) = (0, 0);
        for (member, &worker) in (0..).map(Rank).zip(&members) {
            let pack = topology.pack_of(worker).unwrap_or_default();
            if last == Some(pack) {
                if let Some(run) = runs.last_mut() {
                    run.length += 1;
                }
            } else {
                runs.push(Run {
                    first: member,
                    length: 1,
                });
            }
            last = Some(pack);
            // Packs mostly come in order, so the one sought is usually the last.
            let index = match packs.iter().rposition(|known| known.pack == pack) {
                Some(index) => index,
                None => {
                    packs.push(PackMembers {
                        pack,
                        ranks: Vec::new(),
                    });
                    packs.len() - 1
                }
            };
            packs[index].ranks.push(member);
            if member == rank {
                (own_pack, index_in_pack) = (index, packs[index].ranks.len() - 1);
            }
        }
        Self {
            context,
            rank,
            members,
            packs,
            own_pack,
            index_in_pack,
            runs,
            next: AtomicU64::new(0),
            next_split,
            my_pack: OnceLock::new(),
            pack_leaders: OnceLock::new(),
            history: OnceLock::new(),
        }
    }

    pub(crate) fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The workers, by rank.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Returns the worker of a rank, which must be one of the group's.
    pub(crate) fn worker(&self, rank: Rank) -> u32 {
        self.members[rank.index()]
    }

    /// The rank of a worker, if it is one of the group's.
    pub(crate) fn rank_of(&self, worker: u32) -> Option<Rank> {
        // In the group of all workers, ranks are worker ids; other groups are small or searched
        // rarely.
        if self.members.get(worker as usize) == Some(&worker) {
            return Some(Rank(worker));
        }
        let index = self.members.iter().position(|&member| member == worker);
        index.map(|index| Rank(index as u32))
    }

    pub(crate) fn packs(&self) -> &[PackMembers] {
        &self.packs
    }

    /// The members in this pack.
    pub(crate) fn own_pack(&self) -> &PackMembers {
        &self.packs[self.own_pack]
    }

    /// Returns the index of this member's pack in [`Group::packs`].
    pub(crate) fn own_pack_index(&self) -> usize {
        self.own_pack
    }

    /// Returns this member as a caller, with its place among the members in its pack.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            worker: self.worker(self.rank),
            index: self.index_in_pack,
            members: self.own_pack().ranks.len(),
        }
    }

    pub(crate) fn is_local(&self, rank: Rank) -> bool {
        self.own_pack().ranks.binary_search(&rank).is_ok()
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The index of a rank's run among [`Group::runs`].
    pub(crate) fn run_of(&self, rank: Rank) -> usize {
        self.runs.partition_point(|run| run.end() <= rank.0)
    }

    /// The members in this pack as a group; `None` when that is this group.
    pub(crate) fn my_pack(&self, topology: &Topology) -> Option<Arc<Self>> {
        let context = context::of_my_pack(self.context)?;
        let made = self
            .my_pack
            .get_or_init(|| self.subgroup(context, &self.own_pack().ranks, topology));
        Some(Arc::clone(made))
    }

    /// Whether this member is the first one of its pack.
    pub(crate) fn is_pack_leader(&self) -> bool {
        self.own_pack().ranks.first() == Some(&self.rank)
    }

    /// The first members of all packs as a group, which this member must be in; `None` when that is
    /// this group.
    pub(crate) fn pack_leaders(&self, topology: &Topology) -> Option<Arc<Self>> {
        let context = context::of_pack_leaders(self.context)?;
        let made = self.pack_leaders.get_or_init(|| {
            let first = |pack: &PackMembers| pack.ranks.first().copied();
            let ranks: Vec<Rank> = self.packs.iter().filter_map(first).collect();
            self.subgroup(context, &ranks, topology)
        });
        Some(Arc::clone(made))
    }

    /// Makes a group of members of this group, which must include this one.
    pub(crate) fn subgroup(&self, context: u32, ranks: &[Rank], topology: &Topology) -> Arc<Self> {
        let own = ranks.iter().position(|&rank| rank == self.rank);
        let members = ranks.iter().map(|&rank| self.worker(rank)).collect();
        let own = Rank(own.unwrap_or_default() as u32);
        let next_split = Arc::clone(&self.next_split);
        Arc::new(Self::new(context, members, own, topology, next_split))
    }

    /// The collectives that the members in this pack have called.
    pub(crate) fn history(&self, histories: &CallHistories) -> &CallHistory {
        self.history.get_or_init(|| histories.of(self.context))
    }

    /// Takes the number of this worker's next split.
    pub(crate) fn split_number(&self) -> u64 {
        self.next_split.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets the number of the next split, as if others had come before it.
    #[cfg(test)]
    pub(crate) fn set_split_number(&self, number: u64) {
        self.next_split.store(number, Ordering::Relaxed);
    }

    /// Takes the number of this member's next collective.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn members_of_a_pack_need_not_be_adjacent() {
        let topology = Topology::new(&[2, 2]).unwrap();
        let group = Group::world(&topology, 2).subgroup(5, &[3, 0, 1, 2].map(Rank), &topology);
        let runs: Vec<(u32, usize)> = (group.runs().iter())
            .map(|run| (run.first.0, run.length))
            .collect();
        assert_eq!(runs, [(0, 1), (1, 2), (3, 1)]);
        assert_eq!(group.own_pack().ranks, [0, 3].map(Rank));
        assert_eq!(group.packs()[1].ranks, [1, 2].map(Rank));
        assert_eq!([0, 2, 3].map(|rank| group.run_of(Rank(rank))), [0, 1, 2]);
        assert!(group.is_local(Rank(0)) && !group.is_local(Rank(1)));
        assert_eq!((group.worker(Rank(0)), group.size()), (3, 4));
    }
}

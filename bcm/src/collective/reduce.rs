//! Reduce and all-reduce: trees that keep the order of ranks.
//!
//! A binomial tree over slots `0..n` combines, in round `k`, the ranges that begin at `i` and at
//! `i + 2^k`; ranges are adjacent, so the order is kept and `op` need only be associative. The
//! result ends up in slot 0. For another target `t`, two trees run, over `0..t` and `t..n`, and `t`
//! combines their results: 5 slots with `t = 3` compute `((0·1)·2)·(3·4)`.
//!
//! First the ranks of a run (neighbours in one pack) are combined, then the runs. In a pack with
//! more workers than processors, each level of a tree waits for its workers' turn to run, so the
//! tree is only as wide as there are processors: before it, neighbours form small parts, and one
//! worker of each combines its part's values.

use std::sync::Arc;

use super::broadcast::spread;
use super::{Call, NO_ROOT};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::rank::Rank;

impl Communicator {
    /// Combines the values of all workers at the root, which gets `Some`.
    ///
    /// Values are combined in the order of worker ids, so `op` must be associative but need not be
    /// commutative. Each pack combines its own values before any leave it.
    ///
    /// Cost: `log2(pack_size)` rounds in each pack, then `log2(num_packs)` rounds of one message.
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[2, 3], &BackendConfig::new("memory"), |worker| {
    ///     worker.reduce(worker.worker_id().to_string(), 4, |a, b| a + &b)
    /// });
    /// assert_eq!(results[4], Ok(Some("01234".to_owned())));
    /// assert_eq!(results[0], Ok(None));
    /// ```
    pub fn reduce<T, F>(&self, value: T, root: u32, op: F) -> Result<Option<T>, Error>
    where
        T: Payload,
        F: Fn(T, T) -> T,
    {
        self.noted(reduce(self, value, Rank(root), op))
    }

    /// Combines the values of all workers and gives the result to each of them.
    ///
    /// Like [`Communicator::reduce`] at worker 0 followed by [`Communicator::broadcast`].
    ///
    /// # Errors
    /// Same as [`Communicator::broadcast`].
    ///
    /// ```
    /// # use burst_bcm::{BackendConfig, testing};
    /// let results = testing::run(&[3, 2], &BackendConfig::new("memory"), |worker| {
    ///     Ok(*worker.all_reduce(worker.worker_id(), |a, b| a.max(b))?)
    /// });
    /// assert_eq!(results, vec![Ok(4); 5]);
    /// ```
    pub fn all_reduce<T, F>(&self, value: T, op: F) -> Result<Arc<T>, Error>
    where
        T: Payload,
        F: Fn(T, T) -> T,
    {
        self.noted(all_reduce(self, value, op))
    }
}

fn reduce<T: Payload>(
    communicator: &Communicator,
    value: T,
    root: Rank,
    op: impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let mut call = Call::begin::<T>(communicator, Operation::Reduce, root)?;
    combine(&mut call, value, root, &op)
}

fn all_reduce<T: Payload>(
    communicator: &Communicator,
    value: T,
    op: impl Fn(T, T) -> T,
) -> Result<Arc<T>, Error> {
    let root = NO_ROOT;
    let mut call = Call::begin::<T>(communicator, Operation::AllReduce, root)?;
    let combined = combine(&mut call, value, root, &op)?;
    // A second call number, because the same workers exchange messages again on the way back.
    let call = Call::begin::<T>(communicator, Operation::AllReduce, root)?;
    spread(call, combined.map(Arc::new), root)
}

fn combine<T: Payload>(
    call: &mut Call<'_>,
    value: T,
    root: Rank,
    op: &impl Fn(T, T) -> T,
) -> Result<Option<T>, Error> {
    let group = call.group;
    let runs = group.runs();
    let root_run = group.run_of(root);
    let leader = |run: usize| {
        if run == root_run {
            root
        } else {
            runs[run].first
        }
    };

    let mine = group.run_of(group.rank);
    let run = runs[mine];
    let within = Slots {
        rank: &|slot| run.rank(slot),
        me: run.offset(group.rank),
        count: run.length,
        target: run.offset(leader(mine)),
    };
    let Some(value) = within.fold_in_pack(call, value, op)? else {
        return Ok(None);
    };
    let leaders = Slots {
        rank: &leader,
        me: mine,
        count: runs.len(),
        target: root_run,
    };
    leaders.fold(call, value, op)
}

/// The members whose values a tree combines, in this order.
pub(super) struct Slots<'a> {
    /// The member in each slot.
    pub(super) rank: &'a dyn Fn(usize) -> Rank,
    /// The slot of this member.
    pub(super) me: usize,
    /// The number of slots.
    pub(super) count: usize,
    /// The slot that gets the result.
    pub(super) target: usize,
}

impl Slots<'_> {
    /// Like [`Slots::fold`], for slots that are all workers of one pack.
    pub(super) fn fold_in_pack<T: Payload>(
        &self,
        call: &mut Call<'_>,
        value: T,
        op: &impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        let &Self {
            rank,
            me,
            count,
            target,
        } = self;
        let share = count.div_ceil(call.processors());
        let leader = |part: usize| match part == target / share {
            true => target,
            false => part * share,
        };
        let part = me / share;
        if me != leader(part) {
            call.give(rank(leader(part)), value)?;
            return Ok(None);
        }
        let (mut own, mut combined) = (Some(value), None);
        for slot in part * share..count.min((part + 1) * share) {
            let next = match slot == me {
                true => own.take(),
                false => Some(call.take(rank(slot))?),
            };
            combined = match (combined, next) {
                (Some(left), Some(right)) => Some(op(left, right)),
                (left, right) => left.or(right),
            };
        }
        let Some(combined) = combined else {
            return Ok(None);
        };
        let leaders = Slots {
            rank: &|part| rank(leader(part)),
            me: part,
            count: count.div_ceil(share),
            target: target / share,
        };
        leaders.fold(call, combined, op)
    }

    /// Combines the values of all slots in order; the target gets the result.
    pub(super) fn fold<T: Payload>(
        &self,
        call: &mut Call<'_>,
        value: T,
        op: &impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        let &Self {
            rank,
            me,
            count,
            target,
        } = self;
        if me < target {
            let before = Slots {
                count: target,
                ..*self
            };
            if let Some(left) = before.fold_to_first(call, value, op)? {
                call.give(rank(target), left)?;
            }
            return Ok(None);
        }
        let after = Slots {
            rank: &|slot| rank(target + slot),
            me: me - target,
            count: count - target,
            target: 0,
        };
        match after.fold_to_first(call, value, op)? {
            Some(right) if target > 0 => {
                let left = call.take(rank(0))?;
                Ok(Some(op(left, right)))
            }
            result => Ok(result),
        }
    }

    /// Combines the values of all slots in order; slot 0 gets the result.
    fn fold_to_first<T: Payload>(
        &self,
        call: &mut Call<'_>,
        mut value: T,
        op: &impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        let &Self {
            rank, me, count, ..
        } = self;
        let mut distance = 1;
        while distance < count {
            if me & distance != 0 {
                call.give(rank(me - distance), value)?;
                return Ok(None);
            }
            if me + distance < count {
                let right = call.take(rank(me + distance))?;
                value = op(value, right);
            }
            distance *= 2;
        }
        Ok(Some(value))
    }
}

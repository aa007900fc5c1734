#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::{HashMap, HashSet};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::{BackendConfig, Communicator, Error, Failure, FailureKind, PackId, testing};

fn memory() -> BackendConfig {
    BackendConfig::new("memory")
}

/// What a group's members do with it, while other groups follow their own plans.
#[derive(Debug, Clone)]
struct Plan {
    in_pack: Option<Box<Plan>>,
    among_leaders: Option<Box<Plan>>,
    splits: Vec<Split>,
}

#[derive(Debug, Clone)]
struct Split {
    colors: u32,
    backwards: bool,
    /// The plans for the groups of the colors, by color modulo the number of plans.
    plans: Vec<Plan>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let nothing = Plan {
        in_pack: None,
        among_leaders: None,
        splits: Vec::new(),
    };
    Just(nothing).prop_recursive(4, 24, 4, |plan| {
        let relative = || prop::option::of(plan.clone().prop_map(Box::new));
        let plans = prop::collection::vec(plan.clone(), 1..3);
        let split = (1u32..4, any::<bool>(), plans).prop_map(|(colors, backwards, plans)| Split {
            colors,
            backwards,
            plans,
        });
        let splits = prop::collection::vec(split, 0..4);
        (relative(), relative(), splits).prop_map(|(in_pack, among_leaders, splits)| Plan {
            in_pack,
            among_leaders,
            splits,
        })
    })
}

/// Returns a group and all groups made from it. Each new group is divided further by a thread of its own, all at
/// the same time.
fn groups(group: Communicator, plan: &Plan) -> Result<Vec<Communicator>, Error> {
    let me = group.worker_id();
    let mut made = Vec::new();
    for split in &plan.splits {
        let color = me % (split.colors + 1);
        let key = i64::from(me) * if split.backwards { -1 } else { 1 };
        let new = group.split((color < split.colors).then_some(color), key)?;
        made.extend(new.map(|new| (new, &split.plans[color as usize % split.plans.len()])));
    }
    if let Some(plan) = &plan.in_pack {
        made.push((group.my_pack(), plan));
    }
    if let (Some(plan), Some(leaders)) = (&plan.among_leaders, group.pack_leaders()) {
        made.push((leaders, plan));
    }
    let further = thread::scope(|scope| {
        let threads: Vec<_> = made
            .into_iter()
            .map(|(group, plan)| scope.spawn(|| groups(group, plan)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    Ok([group]
        .into_iter()
        .chain(further.into_iter().flatten())
        .collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_of_one_id_in_a_pack_have_the_same_members(
        sizes in prop::collection::vec(1u32..4, 1..4),
        plan in plan(),
    ) {
        let results = testing::run(&sizes, &memory(), |worker| groups(worker.clone(), &plan));
        let mut known: HashMap<(PackId, u32), Vec<u32>> = HashMap::new();
        let all = results.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
        for group in all.iter().flatten() {
            let members = group.group.members().to_vec();
            let key = (group.pack_id(), group.group.context);
            let first = known.entry(key).or_insert_with(|| members.clone());
            prop_assert_eq!(&members, first, "{:?}", key);
        }
        // And a worker's groups have different ids, except that a pack is its own pack and leaders are their own
        // leaders.
        for groups in &all {
            let mut contexts = HashSet::new();
            for group in groups {
                let is_own = group.my_pack().group.context == group.group.context
                    || group.pack_leaders().is_some_and(|it| it.group.context == group.group.context);
                prop_assert!(contexts.insert(group.group.context) || is_own);
            }
        }
    }

    #[test]
    fn every_split_of_every_worker_has_five_ids_of_its_own(
        workers in 1u32..5000,
        one in (any::<u32>(), any::<u64>()),
        other in (any::<u32>(), any::<u64>()),
    ) {
        let topology = Topology::single(workers).unwrap();
        let named = |(first, number): (u32, u64)| {
            (first % workers, FIRST_NUMBER + number % (numbers(&topology) - FIRST_NUMBER))
        };
        let relatives = |(first, number)| {
            let id = of_split(first, number, &topology).unwrap();
            let (pack, leaders) = (of_my_pack(id).unwrap(), of_pack_leaders(id).unwrap());
            [id, pack, leaders, of_pack_leaders(pack).unwrap(), of_my_pack(leaders).unwrap()]
        };
        let (one, other) = (named(one), named(other));
        let ids: HashSet<u32> = relatives(one).into_iter().chain(relatives(other)).collect();
        prop_assert_eq!(ids.len(), if one == other { 5 } else { 10 });
        prop_assert!(ids.iter().all(|&id| id >= RELATIONS));
    }
}

#[test]
fn a_worker_without_numbers_left_cannot_be_first_of_a_new_group() {
    let results = testing::run(&[2, 1], &memory(), |worker| {
        let me = worker.worker_id();
        let most = (1 << 32) / 5 / 3 - 1;
        if me == 1 {
            worker.group.set_split_number(most);
        }
        // The last possible group, with its relatives.
        let group = worker.split(Some(0), -i64::from(me % 2))?.unwrap();
        assert_eq!(group.rank() == 0, me == 1);
        assert_eq!(*group.all_reduce(1, |a, b| a + b)?, 3);
        assert_eq!(
            group.my_pack().all_gather(me)?.len() as u32,
            worker.pack_size()
        );
        // Every member of the group gets the error.
        let refused = worker.split(Some(0), -i64::from(me % 2)).unwrap_err();
        assert_eq!(
            refused,
            Error::TooManyGroups {
                operation: crate::Operation::Split,
                first: 1,
                most
            }
        );
        // Other workers can still be the first.
        let group = worker.split(Some(0), i64::from(me))?.unwrap();
        assert_eq!(*group.all_reduce(1, |a, b| a + b)?, 3);
        Ok(refused.to_string())
    });
    assert_eq!(
        results[0].as_deref(),
        Ok(
            "split: worker 1, the first of the new group, has been in more splits than the 286331152 that a flare of \
            this size can tell apart"
        )
    );
}

/// Worker 0 uses the given number for its second split, and is first in two groups that other
/// workers share.
fn lie(second: u64) -> Vec<Result<(), Error>> {
    testing::run(&[1, 2], &memory(), |worker| {
        let me = worker.worker_id();
        let one = worker.split((me < 2).then_some(0), 0)?;
        if me == 0 {
            worker.group.set_split_number(second);
        }
        let other = worker.split((me != 1).then_some(0), 0)?;
        if let Some(one) = one {
            one.all_reduce(1, |a, b| a + b)?;
        }
        if let Some(other) = other {
            other.barrier()?;
        }
        worker.barrier()
    })
}

#[test]
fn a_false_number_fails_only_the_workers_own_flare() {
    for (number, refused) in [(0, true), (u64::MAX, true), (FIRST_NUMBER, false)] {
        let results = lie(number);
        for result in &results {
            let panicked = matches!(
                result,
                Err(Error::Aborted(Failure {
                    kind: FailureKind::Panic,
                    ..
                }))
            );
            assert!(!panicked, "{number}: {results:?}");
        }
        let told = results
            .iter()
            .any(|it| matches!(it, Err(Error::TooManyGroups { .. })));
        assert_eq!(told, refused, "{number}: {results:?}");
    }
}

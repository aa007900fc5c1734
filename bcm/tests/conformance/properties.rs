//! Random sequences of operations on random topologies have the results that a simple model
//! predicts.

use burst_bcm::{BackendConfig, Communicator, Error, Operation, Reducer, Tag, testing, wait_any};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::pattern;
use crate::on_every_backend;

/// A step that all workers take together.
#[derive(Debug, Clone)]
pub struct Step {
    pub what: What,
    /// The group; workers that are in none skip the step.
    pub within: Within,
    /// The root, or whatever else makes two steps different.
    pub root: u32,
    /// The approximate length of values; no two have the same.
    pub len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    SendRecv,
    Tagged,
    AnySource,
    NonBlocking,
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Gather,
    AllGather,
    Scatter,
    AllToAll,
    ReduceScatter,
    Scan,
    ExclusiveScan,
    ReduceElements,
    AllReduceElements,
}

const EVERYTHING: [What; 17] = [
    What::SendRecv,
    What::Tagged,
    What::AnySource,
    What::NonBlocking,
    What::Barrier,
    What::Broadcast,
    What::Reduce,
    What::AllReduce,
    What::Gather,
    What::AllGather,
    What::Scatter,
    What::AllToAll,
    What::ReduceScatter,
    What::Scan,
    What::ExclusiveScan,
    What::ReduceElements,
    What::AllReduceElements,
];

#[derive(Debug, Clone, Copy)]
pub enum Within {
    All,
    MyPack,
    PackLeaders,
    /// Workers take turns between this many colors and none; ranked forwards or backwards.
    Split {
        colors: u32,
        backwards: bool,
    },
}

fn within() -> impl Strategy<Value = Within> {
    prop_oneof![
        6 => Just(Within::All),
        1 => Just(Within::MyPack),
        1 => Just(Within::PackLeaders),
        2 => (1u32..4, any::<bool>())
            .prop_map(|(colors, backwards)| Within::Split { colors, backwards }),
    ]
}

pub fn steps(len: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<Step>> {
    let step = (select(&EVERYTHING[..]), within(), 0u32..100, len).prop_map(
        |(what, within, root, len)| Step {
            what,
            within,
            root,
            len,
        },
    );
    prop::collection::vec(step, 1..12)
}

pub fn take(worker: &Communicator, step: &Step) -> Result<(), Error> {
    let group = match step.within {
        Within::All => Some(worker.clone()),
        Within::MyPack => Some(worker.my_pack()),
        Within::PackLeaders => worker.pack_leaders(),
        Within::Split { colors, backwards } => {
            let me = worker.worker_id();
            let color = me % (colors + 1);
            let key = i64::from(me) * if backwards { -1 } else { 1 };
            worker.split((color < colors).then_some(color), key)?
        }
    };
    match group {
        Some(group) if step.what as usize <= What::NonBlocking as usize => point(&group, step),
        Some(group) => collective(&group, step),
        None => Ok(()),
    }
}

/// The value that one member sends to another.
fn value(len: usize, from: u32, to: u32) -> Vec<u8> {
    let less = (from as usize * 7 + to as usize * 13) % (len / 3 + 1);
    pattern(len - less, from, to)
}

/// The values that these members send to one, concatenated.
fn joined(len: usize, from: impl IntoIterator<Item = u32>, to: u32) -> Vec<u8> {
    from.into_iter()
        .flat_map(|from| value(len, from, to))
        .collect()
}

/// Associative but not commutative.
fn join(mut left: Vec<u8>, right: Vec<u8>) -> Vec<u8> {
    left.extend(right);
    left
}

fn point(group: &Communicator, step: &Step) -> Result<(), Error> {
    let (me, size, len) = (group.rank(), group.size(), step.len);
    let root = step.root % size;
    let (next, previous) = ((me + root) % size, (me + size - root) % size);
    match step.what {
        What::SendRecv => {
            let got: Vec<u8> = group.send_recv(value(len, me, next), next, previous)?;
            assert!(got == value(len, previous, me));
        }
        What::Tagged => {
            let mut sends = Vec::new();
            for part in 1..4u32 {
                sends.push(group.isend(value(len / part as usize, me, next), next, Tag(part))?);
            }
            for part in [3, 1, 2u32] {
                let got: Vec<u8> = group.recv_tagged(previous, Tag(part))?;
                assert!(got == value(len / part as usize, previous, me));
            }
            sends.into_iter().try_for_each(|send| send.wait())?;
        }
        What::AnySource => {
            let send = group.isend(value(len, me, root), root, Tag(4))?;
            let mut missing: Vec<u32> = (0..size).filter(|_| me == root).collect();
            while !missing.is_empty() {
                let (from, got) = group.recv_any::<Vec<u8>>(Tag(4))?;
                let place = missing.iter().position(|&rank| rank == from);
                missing.remove(place.expect("a value came twice"));
                assert!(got == value(len, from, root));
            }
            send.wait()?;
            // A sender in the next step like this must not be taken for one of this step.
            group.barrier()?;
        }
        _ => {
            let mut from: Vec<u32> = (0..size).collect();
            let mut requests = Vec::new();
            for &rank in &from {
                requests.push(group.irecv::<Vec<u8>>(rank, Tag(5))?);
            }
            let mut sends = Vec::new();
            for to in (0..size).rev() {
                sends.push(group.isend(value(len, me, to), to, Tag(5))?);
            }
            while from.len() > size as usize / 2 {
                let (place, got) = wait_any(&mut requests)?;
                assert!(got == value(len, from.remove(place), me));
            }
            for (mut request, from) in requests.into_iter().zip(from) {
                let got = match request.test()? {
                    Some(got) => got,
                    None => request.wait()?,
                };
                assert!(got == value(len, from, me));
            }
            sends.into_iter().try_for_each(|send| send.wait())?;
        }
    }
    Ok(())
}

fn collective(group: &Communicator, step: &Step) -> Result<(), Error> {
    let (me, size, len) = (group.rank(), group.size(), step.len);
    let root = step.root % size;
    let at_root = |value: Vec<u8>| (me == root).then_some(value);
    let from_all = |to| {
        (0..size)
            .map(|from| value(len, from, to))
            .collect::<Vec<_>>()
    };
    let to_all = |from| (0..size).map(|to| value(len, from, to)).collect::<Vec<_>>();
    match step.what {
        What::Broadcast => {
            let got = group.broadcast(at_root(value(len, root, 0)), root)?;
            assert!(*got == value(len, root, 0));
        }
        What::Reduce => {
            let got = group.reduce(value(len, me, root), root, join)?;
            assert!(got == at_root(joined(len, 0..size, root)));
        }
        What::AllReduce => {
            let got = group.all_reduce(value(len, me, 1), join)?;
            assert!(*got == joined(len, 0..size, 1));
        }
        What::Gather => {
            let got = group.gather(value(len, me, root), root)?;
            assert!(got == (me == root).then(|| from_all(root)));
        }
        What::AllGather => assert!(*group.all_gather(value(len, me, 2))? == from_all(2)),
        What::Scatter => {
            let values = (me == root).then(|| to_all(root));
            assert!(group.scatter(values, root)? == value(len, root, me));
        }
        What::AllToAll => assert!(group.all_to_all(to_all(me))? == from_all(me)),
        What::ReduceScatter => {
            let got = group.reduce_scatter(to_all(me), join)?;
            assert!(got == joined(len, 0..size, me));
        }
        What::Scan => {
            let got = group.scan(value(len, me, 3), join)?;
            assert!(got == joined(len, 0..=me, 3));
        }
        What::ExclusiveScan => {
            let got = group.exclusive_scan(value(len, me, 3), join)?;
            assert!(got == (me > 0).then(|| joined(len, 0..me, 3)));
        }
        What::ReduceElements | What::AllReduceElements => {
            let ranks = 0..u64::from(size);
            let (reducer, factor) = match step.root % 3 {
                0 => (Reducer::Sum, ranks.map(|rank| rank + 1).sum()),
                1 => (Reducer::Max, ranks.end),
                _ => (Reducer::Min, 1),
            };
            let times = |factor: u64| (0..len as u64 / 8).map(|i| i * factor).collect::<Vec<_>>();
            let mut mine = times(u64::from(me) + 1);
            if step.what == What::AllReduceElements {
                assert!(*group.all_reduce_elements(mine, reducer)? == times(factor));
            } else {
                group.reduce_elements(&mut mine, root, reducer)?;
                assert!(me != root || mine == times(factor));
            }
        }
        _ => group.barrier()?,
    }
    Ok(())
}

#[test]
fn every_operation_is_a_step() {
    let steps = EVERYTHING.map(|what| format!("{what:?}"));
    for operation in Operation::all() {
        let found = match operation {
            // Steps from one worker to another send and receive, and any step may split groups off.
            Operation::Send | Operation::Recv | Operation::Split => true,
            _ => steps.contains(&format!("{operation:?}")),
        };
        assert!(found, "{operation}");
    }
}

on_every_backend! {
    fn any_sequence_of_operations_on_any_topology(backend) {
        let mut runner = TestRunner::new(Config {
            cases: 20,
            failure_persistence: None,
            ..Config::default()
        });
        let topology = prop::collection::vec(1u32..4, 1..5);
        let len = prop_oneof![Just(0usize), 1usize..200, 1000usize..20_000];
        let chunk = prop_oneof![Just(1usize << 20), 500usize..5000];
        runner
            .run(&(topology, steps(len), chunk), |(topology, steps, chunk)| {
                let config = BackendConfig { chunk_size: Some(chunk), ..backend.config.clone() };
                let results = testing::run(&topology, &config, |worker| {
                    steps.iter().try_for_each(|step| take(worker, step))
                });
                for result in results {
                    prop_assert_eq!(result, Ok(()));
                }
                Ok(())
            })
            .unwrap();
    }
}

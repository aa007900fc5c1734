//! Random topologies, sizes and chunk sizes give the same results as a simple model.

use burst_bcm::{BackendConfig, Communicator, Error, testing};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::pattern;
use crate::on_every_backend;

/// One step all workers take together.
#[derive(Debug, Clone)]
pub enum Step {
    Ring { len: usize },
    Broadcast { root: u32, len: usize },
    Reduce { root: u32 },
    AllReduce,
    Gather { root: u32, len: usize },
    AllGather { len: usize },
    Scatter { root: u32, len: usize },
    AllToAll { len: usize },
    Barrier,
}

pub fn steps(len: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..9, 0u32..100, len).prop_map(|(kind, root, len)| match kind {
        0 => Step::Ring { len },
        1 => Step::Broadcast { root, len },
        2 => Step::Reduce { root },
        3 => Step::AllReduce,
        4 => Step::Gather { root, len },
        5 => Step::AllGather { len },
        6 => Step::Scatter { root, len },
        7 => Step::AllToAll { len },
        _ => Step::Barrier,
    });
    prop::collection::vec(step, 1..12)
}

pub fn take(worker: &Communicator, step: &Step) -> Result<(), Error> {
    let (me, size) = (worker.worker_id(), worker.burst_size());
    let text: String = (0..size).map(|w| format!("{w},")).collect();
    match *step {
        Step::Ring { len } => {
            let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
            worker.send(pattern(len, me, next), next)?;
            assert!(worker.recv::<Vec<u8>>(previous)? == pattern(len, previous, me));
        }
        Step::Broadcast { root, len } => {
            let root = root % size;
            let value = (me == root).then(|| pattern(len, root, 0));
            assert!(*worker.broadcast(value, root)? == pattern(len, root, 0));
        }
        Step::Reduce { root } => {
            let root = root % size;
            let result = worker.reduce(format!("{me},"), root, |a, b| a + &b)?;
            assert_eq!(result, (me == root).then_some(text));
        }
        Step::AllReduce => {
            assert_eq!(*worker.all_reduce(format!("{me},"), |a, b| a + &b)?, text);
        }
        Step::Gather { root, len } => {
            let root = root % size;
            let got = worker.gather(pattern(len, me, root), root)?;
            let all = (0..size).map(|from| pattern(len, from, root)).collect();
            assert!(got == (me == root).then_some(all));
        }
        Step::AllGather { len } => {
            let got = worker.all_gather(pattern(len, me, 1))?;
            assert!(
                *got == (0..size)
                    .map(|from| pattern(len, from, 1))
                    .collect::<Vec<_>>()
            );
        }
        Step::Scatter { root, len } => {
            let root = root % size;
            let values = (me == root).then(|| (0..size).map(|to| pattern(len, root, to)).collect());
            assert!(worker.scatter(values, root)? == pattern(len, root, me));
        }
        Step::AllToAll { len } => {
            let got = worker.all_to_all((0..size).map(|to| pattern(len, me, to)).collect())?;
            assert!(
                got == (0..size)
                    .map(|from| pattern(len, from, me))
                    .collect::<Vec<_>>()
            );
        }
        Step::Barrier => worker.barrier()?,
    }
    Ok(())
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
                let config = BackendConfig { chunk_size: chunk, ..backend.config.clone() };
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

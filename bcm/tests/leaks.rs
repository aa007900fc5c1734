//! A closed pack leaves no thread and no descriptor, however its flare ended. In a program of its
//! own, since it counts those of the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burst_bcm::{BackendConfig, Communicator, Error, testing};
use burst_test_servers::{Redis, wait};

fn count(directory: &str) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn threads_and_descriptors() -> (usize, usize) {
    (count("/proc/self/task"), count("/proc/self/fd"))
}

fn works(worker: &Communicator) -> Result<(), Error> {
    let value = (worker.worker_id() == 0).then(|| vec![1u8; 100_000]);
    worker.broadcast(value, 0)?;
    worker.all_to_all(vec![worker.worker_id(); 4])?;
    worker.barrier()
}

fn fails(worker: &Communicator) -> Result<(), Error> {
    works(worker)?;
    if worker.worker_id() == 2 {
        return worker.send((), 99);
    }
    worker.recv::<()>(2)
}

#[test]
fn closed_packs_leave_nothing_in_the_process() {
    let server = Redis::start();
    let backends = [
        BackendConfig::new("memory"),
        BackendConfig::new("direct"),
        BackendConfig::new("redis-list").with_uri(server.uri()),
    ];
    for backend in &backends {
        let before = threads_and_descriptors();
        for _ in 0..3 {
            let results = testing::run(&[2, 1, 1], backend, works);
            assert_eq!(results, vec![Ok(()); 4]);
            let results = testing::run(&[2, 1, 1], backend, fails);
            assert!(results.iter().all(Result::is_err), "{results:?}");
        }
        // A thread that was joined may take a moment to leave the process.
        wait::until_seen(&backend.kind, wait::SOON, threads_and_descriptors, |now| {
            *now == before
        });
    }
}

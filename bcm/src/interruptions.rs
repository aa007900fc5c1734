//! Errors that ended operations of a pack's workers through no fault of their own.

use std::sync::OnceLock;

use crate::error::Error;

/// The first such error of each worker of a pack, on any of its handles.
#[derive(Debug)]
pub(crate) struct Interruptions {
    first_worker: u32,
    errors: Box<[OnceLock<Error>]>,
}

impl Interruptions {
    pub(crate) fn new(first_worker: u32, workers: u32) -> Self {
        Self {
            first_worker,
            errors: (0..workers).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns a worker's result unchanged, and records its error if that is an interruption.
    #[inline]
    pub(crate) fn noted<T>(&self, worker: u32, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.note(worker, error);
        }
        result
    }

    #[cold]
    fn note(&self, worker: u32, error: &Error) {
        if let Error::Aborted(_) | Error::Departed { .. } | Error::Timeout { .. } = error
            && let Some(first) = self.at(worker)
        {
            let _ = first.set(error.clone());
        }
    }

    pub(crate) fn of(&self, worker: u32) -> Option<&Error> {
        self.at(worker)?.get()
    }

    fn at(&self, worker: u32) -> Option<&OnceLock<Error>> {
        let index = worker.checked_sub(self.first_worker)?;
        self.errors.get(index as usize)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{
        BackendConfig, Communicator, Error, Failure, FailureKind, Pack, PackConfig, PackId,
        RecvRequest, Reducer, Tag, Topology, wait_any,
    };

    /// Returns the started packs of a flare, configured only as far as these tests need.
    fn packs(flare: &str, sizes: &[u32]) -> Vec<Pack> {
        let topology = Topology::new(sizes).unwrap();
        let packs: Vec<Pack> = topology
            .packs()
            .map(|pack| {
                let mut config = PackConfig::new(flare, pack, topology.clone());
                config.backend = BackendConfig::new("memory");
                config.max_bytes_in_flight = 1 << 16;
                Pack::join(config).unwrap()
            })
            .collect();
        packs.iter().for_each(|pack| pack.start(vec![]).unwrap());
        packs
    }

    fn failure() -> Failure {
        Failure::new(FailureKind::Panic, "boom").of_worker(1, PackId(0))
    }

    type Operation = fn(&Communicator) -> Result<(), Error>;

    const OPERATIONS: [(&str, Operation); 23] = [
        ("check", |it| it.check()),
        ("send", |it| it.send(1, 1)),
        ("recv", |it| it.recv::<u8>(1).map(drop)),
        ("send_tagged", |it| it.send_tagged(1, 1, Tag(7))),
        ("recv_tagged", |it| {
            it.recv_tagged::<u8>(1, Tag(7)).map(drop)
        }),
        ("recv_any", |it| it.recv_any::<u8>(Tag(7)).map(drop)),
        ("send_recv", |it| it.send_recv(1, 1, 1).map(drop)),
        ("isend", |it| it.isend(1, 1, Tag(7)).map(drop)),
        ("irecv", |it| it.irecv::<u8>(1, Tag(7)).map(drop)),
        ("barrier", |it| it.barrier()),
        ("broadcast", |it| it.broadcast::<u8>(None, 1).map(drop)),
        ("reduce", |it| it.reduce(1, 0, u8::max).map(drop)),
        ("all_reduce", |it| it.all_reduce(1, u8::max).map(drop)),
        ("reduce_elements", |it| {
            it.reduce_elements(&mut vec![1], 0, Reducer::Sum)
        }),
        ("all_reduce_elements", |it| {
            it.all_reduce_elements(vec![1], Reducer::Sum).map(drop)
        }),
        ("gather", |it| it.gather(1, 0).map(drop)),
        ("all_gather", |it| it.all_gather(1).map(drop)),
        ("scatter", |it| it.scatter::<u8>(None, 1).map(drop)),
        ("all_to_all", |it| it.all_to_all(vec![1, 2]).map(drop)),
        ("reduce_scatter", |it| {
            it.reduce_scatter(vec![1, 2], u8::max).map(drop)
        }),
        ("scan", |it| it.scan(1, u8::max).map(drop)),
        ("exclusive_scan", |it| {
            it.exclusive_scan(1, u8::max).map(drop)
        }),
        ("split", |it| it.split(None, 0).map(drop)),
    ];

    #[test]
    fn every_operation_is_tested() {
        for operation in crate::Operation::all() {
            let tried = OPERATIONS.iter().any(|(name, _)| *name == operation.name());
            assert!(tried, "{operation}");
        }
    }

    #[test]
    fn an_operation_ended_by_the_flares_failure_is_noted_for_its_worker_alone() {
        for (name, operation) in OPERATIONS {
            for group in [false, true] {
                let pack = packs(name, &[2]).remove(0);
                let workers = pack.communicators();
                pack.abort(failure());
                let handle = match group {
                    false => workers[0].clone(),
                    true => workers[0].my_pack(),
                };
                let error = operation(&handle).unwrap_err();
                assert_eq!(error, Error::Aborted(failure()), "{name}");
                assert_eq!(workers[0].interrupted_by(), Some(&error), "{name}");
                assert_eq!(workers[1].interrupted_by(), None, "{name}");
            }
        }
    }

    #[test]
    fn a_requests_error_is_noted_once_it_is_returned() {
        type Asked = fn(RecvRequest<u8>) -> Result<(), Error>;
        let asked: [Asked; 3] = [
            |it| it.wait().map(drop),
            |mut it| it.test().map(drop),
            |it| wait_any(&mut vec![it]).map(drop),
        ];
        for ask in asked {
            let pack = packs("received", &[1]).remove(0);
            let worker = pack.communicators().remove(0);
            let request = worker.irecv(0, Tag(0)).unwrap();
            pack.abort(failure());
            assert_eq!(worker.interrupted_by(), None);
            let error = ask(request).unwrap_err();
            assert_eq!(worker.interrupted_by(), Some(&error));
        }
        let packs = packs("sent", &[1, 1]);
        let worker = packs[0].communicators().remove(0);
        // More than the other pack accepts before a worker receives it.
        let send = || worker.isend(vec![0u8; 1 << 20], 1, Tag(0)).unwrap();
        let requests = [send(), send()];
        packs[0].abort(failure());
        assert_eq!(worker.interrupted_by(), None);
        let told = requests.map(|request| request.wait());
        let error = told.into_iter().find_map(Result::err).unwrap();
        assert_eq!(worker.interrupted_by(), Some(&error));
    }

    #[test]
    fn a_workers_own_mistake_is_not_an_interruption() {
        let pack = packs("mistaken", &[1]).remove(0);
        let worker = pack.communicators().remove(0);
        assert!(worker.send(1, 9).is_err());
        assert!(worker.broadcast::<u8>(None, 0).is_err());
        pack.close();
        assert_eq!(worker.check(), Err(Error::Closed));
        assert_eq!(worker.interrupted_by(), None);
    }
}

//! What happens when a worker fails, an argument is wrong, or nobody answers.

use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{Error, Failure, FailureKind, PackConfig, PackId, testing};

use crate::harness::promised;
use crate::on_every_backend;

/// What every other worker must learn of worker 3's failure.
fn names_worker_3(error: &Error) -> bool {
    matches!(error, Error::Aborted(failure)
        if failure.worker == Some(3) && failure.to_string().contains("out of cheese"))
}

on_every_backend! {
    fn a_panic_reaches_blocked_workers_everywhere_within_a_second(backend) {
        for operation in 0..4 {
            let results = backend.run_with(&[2, 2, 2], |_| {}, |worker| {
                worker.barrier()?;
                let begun = Instant::now();
                if worker.worker_id() == 3 {
                    panic!("out of cheese");
                }
                let error = match operation {
                    0 => worker.barrier().map(drop),
                    1 => worker.recv::<u8>(3).map(drop),
                    2 => worker.all_reduce(1, |a: u8, _| a).map(drop),
                    _ => worker.all_to_all(vec![0u8; 6]).map(drop),
                }
                .unwrap_err();
                promised(Duration::from_secs(1), begun);
                // So does the next operation, even one that would not have to wait.
                let next = worker.send((), worker.worker_id()).unwrap_err();
                assert_eq!(error, next);
                Err::<(), _>(error)
            });
            for result in &results {
                let error = result.as_ref().unwrap_err();
                assert!(names_worker_3(error), "{error}");
            }
        }
    }

    fn an_error_names_worker_operation_and_cause(backend) {
        let results = backend.run_with(&[1, 1], |_| {}, |worker| {
            if worker.worker_id() == 1 {
                worker.send((), 7)
            } else {
                worker.recv::<u8>(1).map(drop)
            }
        });
        let Err(Error::Aborted(failure)) = &results[0] else {
            panic!("expected an abort, not {:?}", results[0]);
        };
        assert_eq!(
            (failure.worker, failure.pack),
            (Some(1), Some(PackId(1)))
        );
        assert_eq!(failure.operation.as_deref(), Some("send"));
        assert!(failure.message.contains("destination 7 does not exist"), "{failure}");
    }

    fn the_first_failure_is_the_one_everyone_sees(backend) {
        let packs = backend.packs(&[1, 1]);
        let first = Failure::new(FailureKind::Cancelled, "the user cancelled it");
        packs[0].abort(first.clone());
        packs[0].abort(Failure::new(FailureKind::Internal, "later"));
        let results = testing::run_on(&packs, |worker| worker.recv::<u8>(1 - worker.worker_id()));
        for result in results {
            assert_eq!(result, Err(Error::Aborted(first.clone())));
        }
    }

    fn a_flares_deadline_ends_every_wait(backend) {
        // On a busy machine the time may be up before the packs have started: then they get more.
        let mut time = Duration::from_millis(300);
        let packs = loop {
            let deadline = |config: &mut PackConfig| config.deadline = Some(SystemTime::now() + time);
            match backend.try_packs(&[1, 1], deadline) {
                Ok(packs) => break packs,
                Err(error) => assert!(time < Duration::from_secs(60), "{error}"),
            }
            time *= 2;
        };
        let results = testing::run_on(&packs, |worker| {
            // This is after the flare received its deadline, however long starting it took.
            let begun = Instant::now();
            let result = worker.recv::<u8>(1 - worker.worker_id());
            promised(time, begun);
            result
        });
        // A worker that starts to wait when the time is up finds that the pack has already ended.
        let late = |result: &Result<_, _>| match result {
            Err(Error::Aborted(why)) => why.kind == FailureKind::Timeout,
            other => matches!(other, Err(Error::Timeout { .. })),
        };
        assert!(results.iter().any(late), "{results:?}");
        assert!(results.iter().all(Result::is_err), "{results:?}");
    }

    fn a_message_larger_than_allowed_is_refused_by_its_sender(backend) {
        let configure = |config: &mut PackConfig| config.max_message = 1000;
        let results = backend.run_with(&[1, 1], configure, |worker| {
            if worker.worker_id() == 0 {
                let refused = worker.send(vec![0u8; 1001], 1);
                assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
                worker.send(vec![0u8; 1000], 1)
            } else {
                assert_eq!(worker.recv::<Vec<u8>>(0)?.len(), 1000);
                Ok(())
            }
        });
        assert_eq!(results, vec![Ok(()); 2]);
    }

    fn a_worker_that_waits_for_a_pack_that_ended_gets_an_error(backend) {
        for stays in [false, true] {
            let mut packs = backend.packs(&[1, 1]);
            let last = packs.pop().unwrap();
            last.communicators()[0].send(5u8, 0).unwrap();
            let _kept = stays.then(|| last.leave());
            drop(last);
            let worker = packs[0].communicators().remove(0);
            // What it had sent still arrives; the rest never will.
            assert_eq!(worker.recv::<u8>(1), Ok(5));
            let begun = Instant::now();
            let result = worker.recv::<u8>(1);
            assert!(matches!(result, Err(Error::Departed { .. })), "{result:?}");
            promised(Duration::from_secs(1), begun);
        }
    }

    fn a_closed_pack_answers_closed(backend) {
        let packs = backend.packs(&[1, 1]);
        let worker = packs[0].communicators().remove(0);
        packs[0].close();
        packs[0].close();
        assert_eq!(worker.recv::<u8>(1), Err(Error::Closed));
        assert_eq!(worker.send(1u8, 1), Err(Error::Closed));
        assert_eq!(worker.barrier(), Err(Error::Closed));
    }

    fn two_flares_do_not_see_each_other(backend) {
        std::thread::scope(|scope| {
            for flare in 0..3u32 {
                scope.spawn(move || {
                    backend.run(&[1, 1], |worker| {
                        for i in 0..20 {
                            let peer = 1 - worker.worker_id();
                            worker.send((flare, i), peer)?;
                            assert_eq!(worker.recv::<(u32, u32)>(peer)?, (flare, i));
                        }
                        Ok(())
                    });
                });
            }
        });
    }

    fn threads_end_with_their_pack(backend) {
        // Other tests run concurrently, so only threads of this flare's packs are counted.
        let packs = backend.packs(&[1, 1, 1]);
        let results = testing::run_on(&packs, |worker| worker.barrier());
        assert_eq!(results, vec![Ok(()); 3]);
        let begun = Instant::now();
        drop(packs);
        // Closing joins every thread, so it would hang or take long if one did not end.
        promised(Duration::from_secs(2), begun);
    }
}

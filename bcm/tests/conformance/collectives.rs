//! Every collective, at every root, on packs of every shape.

use std::sync::Arc;
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Communicator, Error, PackConfig, Reducer, testing};

use crate::harness::{SHAPES, pattern, promised, under_watchdog};
use crate::on_every_backend;

on_every_backend! {
    fn broadcast_reaches_everyone_from_every_root(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                for root in 0..worker.burst_size() {
                    let me = worker.worker_id();
                    let value = (me == root).then(|| pattern(5000, root, 0));
                    let got = worker.broadcast(value, root)?;
                    assert_eq!(*got, pattern(5000, root, 0));
                }
                Ok(())
            });
        }
    }

    fn a_broadcast_is_shared_inside_each_pack(backend) {
        let addresses = backend.run(&[2, 3], |worker| {
            let value = (worker.worker_id() == 1).then(|| vec![3u64; 100]);
            let got = worker.broadcast(value, 1)?;
            worker.barrier()?;
            Ok(Arc::as_ptr(&got) as usize)
        });
        assert_eq!(addresses[0], addresses[1]);
        assert!(addresses[2] == addresses[3] && addresses[3] == addresses[4]);
    }

    fn reduce_keeps_the_order_for_any_size_and_root(backend) {
        // Joining texts is associative but not commutative.
        for size in 1..=7u32 {
            for shape in [vec![size], vec![1; size as usize], split(size)] {
                let all: String = (0..size).map(|w| format!("[{w}]")).collect();
                backend.run(&shape, |worker| {
                    for root in 0..size {
                        let mine = format!("[{}]", worker.worker_id());
                        let result = worker.reduce(mine, root, |a, b| a + &b)?;
                        let expected = (worker.worker_id() == root).then(|| all.clone());
                        assert_eq!(result, expected, "root {root} of {shape:?}");
                    }
                    let mine = format!("[{}]", worker.worker_id());
                    assert_eq!(*worker.all_reduce(mine, |a, b| a + &b)?, all);
                    Ok(())
                });
            }
        }
    }

    fn elements_are_combined_at_any_root_small_and_large(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                // All workers of a pack combine large values together.
                for length in [0u64, 3, 60_000] {
                    let mine: Vec<u64> = (0..length).map(|i| i * u64::from(me + 1)).collect();
                    let factors = u64::from(size * (size + 1) / 2);
                    let sum: Vec<u64> = (0..length).map(|i| i * factors).collect();
                    for root in 0..size {
                        let mut values = mine.clone();
                        worker.reduce_elements(&mut values, root, Reducer::Sum)?;
                        assert!(me != root || values == sum);
                    }
                    let max: Vec<u64> = (0..length).map(|i| i * u64::from(size)).collect();
                    assert!(*worker.all_reduce_elements(mine, Reducer::Max)? == max);
                }
                Ok(())
            });
        }
    }

    fn vectors_of_different_lengths_are_an_error_and_not_a_hang(backend) {
        let refused = |error: &Error| matches!(error, Error::InvalidArgument { .. });
        // In one pack and between packs; the root's is the longest, the shortest, empty, or one of the others.
        let cases: [(&[u32], &[usize]); 8] = [
            (&[2, 2], &[3, 3, 3, 4]),
            (&[2, 2], &[200_000, 200_000, 200_000, 200_001]),
            (&[1, 1], &[3, 4]),
            (&[1, 1], &[4, 3]),
            (&[1, 1], &[0, 1]),
            (&[1, 1, 1], &[3, 3, 4]),
            (&[1, 1, 1, 1], &[3, 3, 3, 4]),
            (&[1, 1, 1, 1], &[0, 0, 3, 4]),
        ];
        for (packs, lengths) in cases {
            for to_all in [false, true] {
                let results = backend.run_with(packs, |_| {}, |worker| {
                    let mut values = vec![1.0f64; lengths[worker.worker_id() as usize]];
                    if to_all {
                        worker.all_reduce_elements(values, Reducer::Sum)?;
                    } else {
                        worker.reduce_elements(&mut values, 0, Reducer::Product)?;
                    }
                    worker.barrier()
                });
                assert!(results[0].is_err(), "{lengths:?}: {results:?}");
                assert!(results.iter().any(|r| r.as_ref().is_err_and(refused)), "{results:?}");
                assert!(results.iter().all(Result::is_err), "{results:?}");
            }
        }
    }

    fn reduce_is_never_confused_with_a_pending_message(backend) {
        backend.run(&[2, 2], |worker| {
            let (me, size) = (worker.worker_id(), worker.burst_size());
            for to in 0..size {
                worker.send(u64::MAX, to)?;
            }
            for root in 0..size {
                let sum = worker.reduce(1u64, root, |a, b| a + b)?;
                assert_eq!(sum, (me == root).then_some(4));
            }
            assert_eq!(worker.gather(me, 0)?, (me == 0).then(|| vec![0, 1, 2, 3]));
            for from in 0..size {
                assert_eq!(worker.recv::<u64>(from)?, u64::MAX);
            }
            Ok(())
        });
    }

    fn gather_and_scatter_keep_the_order(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                for root in 0..size {
                    let gathered = worker.gather(pattern(100, me, root), root)?;
                    let expected: Vec<_> = (0..size).map(|from| pattern(100, from, root)).collect();
                    assert_eq!(gathered, (me == root).then_some(expected));

                    let values = (me == root)
                        .then(|| (0..size).map(|to| pattern(100, root, to)).collect());
                    assert_eq!(worker.scatter(values, root)?, pattern(100, root, me));
                }
                let all = worker.all_gather(format!("{me}"))?;
                assert!(all.iter().enumerate().all(|(i, text)| *text == i.to_string()));
                assert_eq!(all.len(), size as usize);
                Ok(())
            });
        }
    }

    fn all_to_all_takes_any_lengths(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                let length = |from: u32, to: u32| (from * 100 + to * 7) as usize;
                let values = (0..size).map(|to| pattern(length(me, to), me, to)).collect();
                let got = worker.all_to_all(values)?;
                for (from, value) in (0..size).zip(&got) {
                    assert_eq!(*value, pattern(length(from, me), from, me));
                }
                assert_eq!(got.len(), size as usize);
                Ok(())
            });
        }
    }

    fn reduce_scatter_keeps_the_order(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                let values = (0..size).map(|to| format!("[{me}>{to}]")).collect();
                let mine: String = (0..size).map(|from| format!("[{from}>{me}]")).collect();
                assert_eq!(worker.reduce_scatter(values, |a, b| a + &b)?, mine);
                Ok(())
            });
        }
    }

    fn scans_keep_the_order_for_any_size(backend) {
        for size in 1..=7u32 {
            for shape in [vec![size], vec![1; size as usize], split(size)] {
                backend.run(&shape, |worker| {
                    let me = worker.worker_id();
                    let up_to = |end: u32| (0..end).map(|w| format!("[{w}]")).collect::<String>();
                    let mine = format!("[{me}]");
                    assert_eq!(worker.scan(mine.clone(), |a, b| a + &b)?, up_to(me + 1));
                    let before = worker.exclusive_scan(mine, |a, b| a + &b)?;
                    assert_eq!(before, (me > 0).then(|| up_to(me)));
                    Ok(())
                });
            }
        }
    }

    fn nobody_leaves_a_barrier_before_all_have_entered(backend) {
        use std::sync::atomic::{AtomicU32, Ordering};
        for shape in SHAPES {
            let come = AtomicU32::new(0);
            let size: u32 = shape.iter().sum();
            backend.run(shape, |worker| {
                for round in 1..=6 {
                    come.fetch_add(1, Ordering::SeqCst);
                    worker.barrier()?;
                    assert!(come.load(Ordering::SeqCst) >= round * size);
                    worker.barrier()?;
                }
                Ok(())
            });
        }
    }

    fn collectives_follow_each_other_without_a_barrier(backend) {
        backend.run(&[2, 1, 2], |worker| {
            let me = worker.worker_id();
            for i in 0..30u32 {
                let root = i % worker.burst_size();
                assert_eq!(*worker.broadcast((me == root).then_some(i), root)?, i);
                assert_eq!(*worker.all_reduce(i, u32::max)?, i);
                worker.gather(i, root)?;
            }
            Ok(())
        });
    }

    fn different_collectives_are_an_error_and_not_a_hang(backend) {
        let results = backend.run_with(&[2, 2], |_| {}, |worker| {
            match worker.worker_id() {
                0 => worker.broadcast(Some(1u32), 0).map(|_| ()),
                _ => worker.all_reduce(1u32, |a, b| a + b).map(|_| ()),
            }?;
            worker.barrier()
        });
        let mismatch = |error: &Error| matches!(error, Error::CollectiveMismatch { .. });
        assert!(results.iter().any(|r| r.as_ref().is_err_and(mismatch)), "{results:?}");
        assert!(results.iter().all(Result::is_err), "{results:?}");
    }

    fn different_roots_are_an_error_and_not_a_hang(backend) {
        let results = backend.run_with(&[1, 1], |_| {}, |worker| {
            let me = worker.worker_id();
            worker.reduce(1u32, 1 - me, |a, b| a + b)?;
            worker.barrier()
        });
        assert!(
            results.iter().any(|r| matches!(r, Err(Error::CollectiveMismatch { .. }))),
            "{results:?}"
        );
    }

    fn different_roots_are_an_error_for_workers_that_wait_for_each_other(backend) {
        type Call = fn(&Communicator) -> Result<(), Error>;
        // Nobody sends anything.
        let cases: [Call; 5] = [
            |worker| worker.gather(1u8, worker.worker_id() / 2 * 2).map(drop),
            |worker| worker.reduce(1u8, worker.worker_id() / 2 * 2, |a, _| a).map(drop),
            |worker| worker.broadcast::<u8>(None, 2 - worker.worker_id() / 2 * 2).map(drop),
            |worker| worker.scatter::<u8>(None, 2 - worker.worker_id() / 2 * 2).map(drop),
            // In a group, whose members know nothing of it before they call.
            |worker| {
                let pair = worker.split(Some(worker.worker_id() % 2), 0)?;
                pair.map_or(Ok(()), |pair| pair.broadcast::<u8>(None, 1 - pair.rank()).map(drop))
            },
        ];
        for call in cases {
            let packs = backend.packs(&[2, 2]);
            let begun = Instant::now();
            let results = testing::run_on(&packs, call);
            promised(Duration::from_secs(5), begun);
            let mismatch = |result: &Result<(), Error>| {
                matches!(result, Err(Error::CollectiveMismatch { .. }))
            };
            assert!(results.iter().any(mismatch), "{results:?}");
            // A worker that only sends has done its part.
            let waited = |result: &Result<(), Error>| matches!(result, Err(Error::Timeout { .. }));
            assert!(!results.iter().any(waited), "{results:?}");
        }
    }

    fn two_roots_of_large_values_are_an_error(backend) {
        let narrow = |config: &mut PackConfig| config.max_bytes_in_flight = 1 << 20;
        let packs = backend.try_packs(&[1, 1], narrow).unwrap();
        let begun = Instant::now();
        let results = testing::run_on(&packs, |worker| {
            let me = worker.worker_id();
            worker.broadcast(Some(vec![0u8; 4 << 20]), me)?;
            worker.barrier()
        });
        promised(Duration::from_secs(5), begun);
        let mismatch = |result: &Result<(), Error>| {
            matches!(result, Err(Error::CollectiveMismatch { .. }))
        };
        assert!(results.iter().any(mismatch), "{results:?}");
    }

    fn a_broadcast_leaves_a_pack_once_per_other_pack(backend) {
        let sizes = [4, 4, 4];
        let packs = backend.packs(&sizes);
        let length = 10_000u64;
        let results = testing::run_on(&packs, |worker| {
            let value = (worker.worker_id() == 5).then(|| vec![1u8; length as usize]);
            worker.broadcast(value, 5)
        });
        assert!(results.iter().all(Result::is_ok));
        let traffic: Vec<_> = packs.iter().map(|pack| pack.traffic()).collect();
        assert_eq!((traffic[1].messages_sent, traffic[1].bytes_sent), (2, 2 * length));
        assert_eq!((traffic[0].messages_received, traffic[0].bytes_received), (1, length));
        assert_eq!((traffic[2].messages_received, traffic[2].bytes_received), (1, length));
        assert_eq!(traffic[0].messages_sent + traffic[2].messages_sent, 0);
    }

    fn all_to_all_leaves_a_pack_once_per_other_pack_or_once_per_pair(backend) {
        for (length, bundled) in [(0, true), (100, true), (8 << 10, true), (8200, false)] {
            let traffic = traffic(backend, &[3, 1, 4], |worker| {
                let me = worker.worker_id();
                let values = (0..8).map(|to| pattern(length, me, to)).collect();
                let got = worker.all_to_all(values)?;
                assert!(got == (0..8).map(|from| pattern(length, from, me)).collect::<Vec<_>>());
                Ok(())
            });
            for (pack, size) in [3, 1, 4].into_iter().enumerate() {
                // The share of remote pairs, whatever the packs.
                let values = size * (8 - size);
                let (messages, extra) = match bundled {
                    true => (2, values * ENTRY + 2 * HEAD),
                    false => (values, 0),
                };
                let bytes = values * length as u64 + extra;
                assert_eq!(traffic[pack].messages_sent, messages, "{length} B, pack {pack}");
                assert_eq!(traffic[pack].bytes_sent, bytes, "{length} B, pack {pack}");
                assert_eq!(traffic[pack].messages_received, match bundled {
                    true => 2,
                    false => values,
                });
            }
        }
    }

    fn short_and_long_values_take_different_paths_and_all_arrive(backend) {
        let lengths = |from: u32, to: u32| match (from * 3 + to) % 5 {
            0 => 0,
            1 => 8193,
            2 => 10,
            3 => 8 << 10,
            _ => 40_000,
        };
        let value = |from, to| pattern(lengths(from, to), from, to);
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                let from_all = |to| (0..size).map(|from| value(from, to)).collect::<Vec<_>>();
                let to_all = |from| (0..size).map(|to| value(from, to)).collect::<Vec<_>>();
                for root in [0, size - 1] {
                    assert!(worker.all_to_all(to_all(me))? == from_all(me));
                    let gathered = worker.gather(value(me, root), root)?;
                    assert!(gathered == (me == root).then(|| from_all(root)));
                    let scattered = worker.scatter((me == root).then(|| to_all(root)), root)?;
                    assert!(scattered == value(root, me));
                    assert!(*worker.all_gather(value(me, root))? == from_all(root));
                    // The same for values that are encoded.
                    let texts = to_all(me).into_iter().map(|bytes| (me, bytes)).collect();
                    let got = worker.all_to_all(texts)?;
                    assert!((0..size).zip(from_all(me)).eq(got));
                }
                Ok(())
            });
        }
    }

    fn no_bundle_is_longer_than_a_message_may_be(backend) {
        for length in [0usize, 1, 500, 1000] {
            let limit = |config: &mut burst_bcm::PackConfig| config.max_message = 1000;
            let results = backend.run_with(&[6, 6], limit, |worker| {
                let me = worker.worker_id();
                let values = |from: u32| (0..12).map(|to| pattern(length, from, to)).collect::<Vec<_>>();
                let mine: Vec<_> = (0..12).map(|from| pattern(length, from, me)).collect();
                assert!(worker.all_to_all(values(me))? == mine);
                assert!(worker.scatter((me == 0).then(|| values(0)), 0)? == pattern(length, 0, me));
                assert!(worker.gather(pattern(length, me, 3), 3)?.is_some() == (me == 3));
                assert!(worker.all_gather(pattern(length, me, 0))?[7] == pattern(length, 7, 0));
                Ok(())
            });
            assert_eq!(results, vec![Ok(()); 12]);
        }
    }

    fn a_pack_gathers_scatters_and_broadcasts_in_one_message(backend) {
        let traffic = traffic(backend, &[3, 2, 4], |worker| {
            let me = worker.worker_id();
            worker.gather(me, 1)?;
            worker.scatter((me == 1).then(|| (0..9u32).collect()), 1)?;
            worker.all_gather(me)?;
            worker.broadcast((me == 1).then_some(me), 1)?;
            Ok(())
        });
        let messages = |traffic: &burst_bcm::Traffic| traffic.messages_sent;
        // To two other packs: scatter, all-to-all, broadcast. What is gathered comes from the
        // others.
        assert_eq!(traffic.iter().map(messages).collect::<Vec<_>>(), [6, 3, 3]);
    }

    fn a_single_pack_sends_nothing(backend) {
        let packs = backend.packs(&[4]);
        let results = testing::run_on(&packs, |worker| {
            worker.broadcast(Some(1u8), 0)?;
            worker.barrier()
        });
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(packs[0].traffic(), burst_bcm::Traffic::default());
    }
}

/// The bytes of a bundle besides its values.
const HEAD: u64 = 8;
const ENTRY: u64 = 12;

/// What each pack has sent and received in an operation.
fn traffic(
    backend: &crate::harness::Backend,
    sizes: &[u32],
    operation: impl Fn(&burst_bcm::Communicator) -> Result<(), Error> + Sync,
) -> Vec<burst_bcm::Traffic> {
    let packs = backend.packs(sizes);
    for result in testing::run_on(&packs, operation) {
        assert_eq!(result, Ok(()));
    }
    packs.iter().map(|pack| pack.traffic()).collect()
}

/// Two uneven packs, or one.
fn split(size: u32) -> Vec<u32> {
    match size {
        1 => vec![1],
        _ => vec![size / 2 + size % 2, size / 2],
    }
}

/// Messages are also pushed to workers that did not ask for them.
#[test]
fn roots_are_compared_even_if_nobody_waits_for_them() {
    // Each worker takes itself, or the other one, for the root, so that nobody waits for anybody.
    type Call = fn(&Communicator) -> Result<(), Error>;
    let calls: [Call; 4] = [
        |worker| (worker.broadcast(Some(1u32), worker.worker_id())).map(|_| ()),
        |worker| (worker.scatter(Some(vec![1u32; 2]), worker.worker_id())).map(|_| ()),
        |worker| worker.gather(1u32, 1 - worker.worker_id()).map(|_| ()),
        |worker| (worker.reduce(1u32, 1 - worker.worker_id(), |a, _| a)).map(|_| ()),
    ];
    under_watchdog(move || {
        for kind in ["memory", "direct"] {
            for call in calls {
                let backend = BackendConfig::new(kind);
                let results = testing::run(&[1, 1], &backend, |worker| {
                    call(worker)?;
                    (0..100).try_for_each(|_| worker.barrier())
                });
                let told = |result: &Result<(), Error>| {
                    let message = result.as_ref().err().map(ToString::to_string);
                    message.is_some_and(|message| {
                        message.contains("with root 0") && message.contains("with root 1")
                    })
                };
                assert!(results.iter().any(told), "{kind}: {results:?}");
                assert!(results.iter().all(Result::is_err), "{kind}: {results:?}");
            }
        }
    });
}

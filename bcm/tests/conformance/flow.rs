//! Bytes in flight are bounded, and the bound delays messages instead of failing them.

use std::time::Duration;

use burst_bcm::{Error, PackConfig};

use crate::harness::pattern;
use crate::on_every_backend;

/// Room for a few messages of the sizes below.
fn tight(config: &mut PackConfig) {
    config.max_bytes_in_flight = 64 << 10;
    config.backend.chunk_size = Some(8 << 10);
}

on_every_backend! {
    fn more_than_the_bound_goes_through(backend) {
        let results = backend.run_with(&[2, 2], tight, |worker| {
            let me = worker.worker_id();
            for i in 0..40 {
                if me < 2 {
                    worker.send(pattern(20_000, me, i), me + 2)?;
                } else {
                    assert_eq!(worker.recv::<Vec<u8>>(me - 2)?, pattern(20_000, me - 2, i));
                }
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 4]);
    }

    fn a_message_larger_than_the_bound_goes_through(backend) {
        let results = backend.run_with(&[1, 1], tight, |worker| {
            if worker.worker_id() == 0 {
                worker.send(vec![7u64; 50_000], 1)
            } else {
                assert_eq!(worker.recv::<Vec<u64>>(0)?, vec![7u64; 50_000]);
                Ok(())
            }
        });
        assert_eq!(results, vec![Ok(()); 2]);
    }

    fn collectives_larger_than_the_bound_go_through(backend) {
        let results = backend.run_with(&[2, 1, 2], tight, |worker| {
            let (me, size) = (worker.worker_id(), worker.burst_size());
            for round in 0..3 {
                let values = (0..size).map(|to| pattern(30_000, me, to + round)).collect();
                let got = worker.all_to_all(values)?;
                for (from, value) in (0..size).zip(got) {
                    assert!(value == pattern(30_000, from, me + round));
                }
                let value = (me == round).then(|| pattern(100_000, round, 0));
                assert!(*worker.broadcast(value, round)? == pattern(100_000, round, 0));
                let all = worker.all_gather(pattern(25_000, me, 0))?;
                for (from, value) in (0..size).zip(all.iter()) {
                    assert!(*value == pattern(25_000, from, 0));
                }
                worker.gather(pattern(40_000, me, 1), round)?;
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 5]);
    }

    fn a_sender_without_a_receiver_waits_and_times_out(backend) {
        let configure = |config: &mut PackConfig| {
            tight(config);
            config.operation_timeout = Duration::from_millis(300);
        };
        let results = backend.run_with(&[1, 1], configure, |worker| {
            if worker.worker_id() == 0 {
                for _ in 0..1000 {
                    worker.send(vec![1u8; 20_000], 1)?;
                }
                Ok(())
            } else {
                // Waits for a message that never arrives, so that the pack stays.
                worker.recv::<u8>(1)
                    .map(drop)
            }
        });
        let timed_out = |result: &Result<(), Error>| matches!(result, Err(Error::Timeout { .. }));
        assert!(results.iter().any(timed_out), "{results:?}");
        assert!(results.iter().all(Result::is_err), "{results:?}");
    }

    fn small_messages_overtake_large_ones_of_others(backend) {
        // Worker 1's large message is not received for a long time; worker 0's small ones pass it.
        let results = backend.run_with(&[2, 2], tight, |worker| {
            match worker.worker_id() {
                0 => {
                    for i in 0..30u32 {
                        worker.send(i, 2)?;
                        assert_eq!(worker.recv::<u32>(2)?, i);
                    }
                    Ok(())
                }
                1 => worker.send(pattern(500_000, 1, 3), 3),
                2 => {
                    for i in 0..30u32 {
                        assert_eq!(worker.recv::<u32>(0)?, i);
                        worker.send(i, 0)?;
                    }
                    worker.send((), 3)
                }
                _ => {
                    worker.recv::<()>(2)?;
                    assert!(worker.recv::<Vec<u8>>(1)? == pattern(500_000, 1, 3));
                    Ok(())
                }
            }
        });
        assert_eq!(results, vec![Ok(()); 4]);
    }
}

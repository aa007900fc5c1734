//! Tags, messages from any worker, and operations that are started and waited for later.

use burst_bcm::{Error, Tag, wait_any};

use crate::harness::{SHAPES, pattern};
use crate::on_every_backend;

on_every_backend! {
    fn tags_keep_messages_apart_and_in_order(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                for to in 0..size {
                    for i in 0..9u32 {
                        worker.send_tagged((me, i), to, Tag(i % 3))?;
                    }
                }
                for from in 0..size {
                    for first in [2, 0, 1] {
                        for i in (first..9).step_by(3) {
                            let got: (u32, u32) = worker.recv_tagged(from, Tag(first))?;
                            assert_eq!(got, (from, i));
                        }
                    }
                }
                Ok(())
            });
        }
    }

    fn recv_any_gets_all_messages_and_each_senders_in_order(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                for i in 0..10u32 {
                    for to in 0..size {
                        worker.send_tagged(i, to, Tag(7))?;
                    }
                }
                worker.send_tagged(pattern(300_000, me, 0), 0, Tag(8))?;
                let mut next = vec![0; size as usize];
                for _ in 0..10 * size {
                    let (from, i) = worker.recv_any::<u32>(Tag(7))?;
                    assert_eq!(i, next[from as usize]);
                    next[from as usize] += 1;
                }
                assert_eq!(next, vec![10; size as usize]);
                for _ in 0..if me == 0 { size } else { 0 } {
                    let (from, value) = worker.recv_any::<Vec<u8>>(Tag(8))?;
                    assert!(value == pattern(300_000, from, 0));
                }
                Ok(())
            });
        }
    }

    fn large_values_are_exchanged_without_a_deadlock(backend) {
        let small = |config: &mut burst_bcm::PackConfig| config.max_bytes_in_flight = 100_000;
        let results = backend.run_with(&[2, 2], small, |worker| {
            let (me, size) = (worker.worker_id(), worker.burst_size());
            for distance in 1..size {
                let (to, from) = ((me + distance) % size, (me + size - distance) % size);
                let got: Vec<u8> = worker.send_recv(pattern(500_000, me, to), to, from)?;
                assert!(got == pattern(500_000, from, me));
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 4]);
    }

    fn requests_are_completed_in_the_order_they_were_made(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
                let mut sends = Vec::new();
                for i in 0..8u32 {
                    sends.push(worker.isend(pattern(i as usize * 20_000, me, i), next, Tag(1))?);
                }
                worker.send_tagged(vec![9u8], next, Tag(1))?;
                for i in 0..8u32 {
                    let mut request = worker.irecv::<Vec<u8>>(previous, Tag(1))?;
                    let value = loop {
                        match request.test()? {
                            Some(value) => break value,
                            None => std::thread::yield_now(),
                        }
                    };
                    assert!(value == pattern(i as usize * 20_000, previous, i));
                    assert!(matches!(request.wait(), Err(Error::InvalidArgument { .. })));
                }
                assert_eq!(worker.irecv::<Vec<u8>>(previous, Tag(1))?.wait()?, [9]);
                for mut send in sends {
                    while !send.test()? {
                        std::thread::yield_now();
                    }
                    send.wait()?;
                }
                Ok(())
            });
        }
    }

    fn wait_any_returns_one_request_of_many(backend) {
        backend.run(&[2, 1, 2], |worker| {
            let (me, size) = (worker.worker_id(), worker.burst_size());
            for to in 0..size {
                worker.isend(pattern(1000 * to as usize, me, to), to, Tag(4))?.wait()?;
            }
            let mut requests = Vec::new();
            let mut sources: Vec<u32> = (0..size).collect();
            for &from in &sources {
                requests.push(worker.irecv::<Vec<u8>>(from, Tag(4))?);
            }
            while !sources.is_empty() {
                let (place, value) = wait_any(&mut requests)?;
                let from = sources.remove(place);
                assert!(value == pattern(1000 * me as usize, from, me));
            }
            assert!(matches!(wait_any(&mut requests), Err(Error::InvalidArgument { .. })));
            Ok(())
        });
    }

    fn a_failure_ends_waits_for_any_source(backend) {
        let results = backend.run_with(&[2, 2], |_| {}, |worker| {
            match worker.worker_id() {
                0 => worker.recv_any::<u8>(Tag(0)).map(drop),
                1 => {
                    let mut requests = vec![worker.irecv::<u8>(0, Tag(0))?, worker.irecv(3, Tag(0))?];
                    wait_any(&mut requests).map(drop)
                }
                2 => worker.irecv::<u8>(0, Tag(0))?.wait().map(drop),
                _ => worker.send((), 9),
            }
        });
        for result in &results[..3] {
            assert!(
                matches!(result, Err(Error::Aborted(failure)) if failure.worker == Some(3)),
                "{results:?}"
            );
        }
    }
}

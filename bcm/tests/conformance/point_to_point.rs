//! Send and receive.

use burst_bcm::Error;
use bytes::Bytes;

use crate::harness::{SHAPES, pattern};
use crate::on_every_backend;

on_every_backend! {
    fn every_pair_exchanges(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                for to in 0..size {
                    worker.send(pattern(1000, me, to), to)?;
                }
                for from in 0..size {
                    assert_eq!(worker.recv::<Vec<u8>>(from)?, pattern(1000, from, me));
                }
                Ok(())
            });
        }
    }

    fn messages_stay_in_order(backend) {
        backend.run(&[1, 1], |worker| {
            for i in 0..100u32 {
                if worker.worker_id() == 0 {
                    // Sizes differ, so that later messages arrive sooner.
                    worker.send((i, vec![0u8; if i % 7 == 0 { 40_000 } else { 3 }]), 1)?;
                } else {
                    assert_eq!(worker.recv::<(u32, Vec<u8>)>(0)?.0, i);
                }
            }
            Ok(())
        });
    }

    fn every_kind_of_payload_arrives(backend) {
        backend.run(&[1, 1], |worker| {
            if worker.worker_id() == 0 {
                worker.send(vec![1.5f64, f64::MIN_POSITIVE, -0.0], 1)?;
                worker.send(vec![u16::MAX, 1], 1)?;
                worker.send("grüße".to_owned(), 1)?;
                worker.send(Bytes::from_static(b"bytes"), 1)?;
                worker.send(Some(vec![("a".to_owned(), 1i64)]), 1)?;
                worker.send((), 1)?;
            } else {
                let floats = worker.recv::<Vec<f64>>(0)?;
                assert_eq!(floats, [1.5, f64::MIN_POSITIVE, -0.0]);
                assert!(floats[2].is_sign_negative());
                assert_eq!(worker.recv::<Vec<u16>>(0)?, [u16::MAX, 1]);
                assert_eq!(worker.recv::<String>(0)?, "grüße");
                assert_eq!(worker.recv::<Bytes>(0)?, "bytes");
                let rows = worker.recv::<Option<Vec<(String, i64)>>>(0)?;
                assert_eq!(rows, Some(vec![("a".to_owned(), 1)]));
                worker.recv::<()>(0)?;
            }
            Ok(())
        });
    }

    fn a_send_is_not_stuck_behind_a_pending_receive(backend) {
        // The same worker waits for an answer on one thread while it asks on another.
        backend.run(&[1, 1], |worker| {
            if worker.worker_id() == 0 {
                std::thread::scope(|scope| {
                    let answer = scope.spawn(|| worker.recv::<u32>(1));
                    worker.send(vec![1u8; 200_000], 1)?;
                    worker.send(20u32, 1)?;
                    assert_eq!(answer.join().unwrap()?, 21);
                    Ok(())
                })
            } else {
                worker.recv::<Vec<u8>>(0)?;
                let asked = worker.recv::<u32>(0)?;
                worker.send(asked + 1, 0)
            }
        });
    }

    fn blocked_receives_do_not_starve_the_connections(backend) {
        // A token goes from pack to pack; everyone but its holder is blocked in a receive.
        let at = |place: u32| place % 16 / 2 + 8 * (place % 2);
        backend.run(&[8, 8], |worker| {
            let me = worker.worker_id();
            let place = me % 8 * 2 + me / 8;
            for round in 0..3 {
                if place > 0 || round > 0 {
                    assert_eq!(worker.recv::<u32>(at(place + 15))?, round * 16 + place - 1);
                }
                if place < 15 || round < 2 {
                    worker.send(round * 16 + place, at(place + 1))?;
                }
            }
            Ok(())
        });
    }

    fn another_type_is_an_error_and_not_a_panic(backend) {
        let results = backend.run_with(&[1, 1], |_| {}, |worker| {
            if worker.worker_id() == 0 {
                worker.send(vec![1u32], 1)?;
                Ok(vec![])
            } else {
                worker.recv::<Vec<f32>>(0)
            }
        });
        let error = results[1].as_ref().unwrap_err();
        assert!(matches!(error, Error::TypeMismatch { .. }), "{error}");
        assert!(error.to_string().contains("Vec<f32> from worker 0"), "{error}");
    }
}

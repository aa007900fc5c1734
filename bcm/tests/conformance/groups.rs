//! Groups: their ranks, their collectives, and their isolation from each other.

use burst_bcm::Tag;

use crate::harness::{SHAPES, pattern};
use crate::on_every_backend;

on_every_backend! {
    fn packs_and_their_leaders_are_groups(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let me = worker.worker_id();
                let pack = worker.my_pack();
                let mine = worker.workers_of(worker.pack_id()).unwrap();
                assert_eq!((pack.size(), pack.rank()), (mine.end - mine.start, me - mine.start));
                assert_eq!(*pack.all_gather(me)?, mine.clone().collect::<Vec<_>>());
                let leaders = worker.pack_leaders();
                assert_eq!(leaders.is_some(), worker.is_pack_leader());
                if let Some(leaders) = leaders {
                    assert_eq!(leaders.rank(), worker.pack_id().0);
                    let root = leaders.size() - 1;
                    let value = (leaders.rank() == root).then(|| pattern(10_000, root, 0));
                    assert_eq!(*leaders.broadcast(value, root)?, pattern(10_000, root, 0));
                }
                // Requested again, it is the same group and continues its count.
                assert_eq!(*worker.my_pack().all_reduce(1, |a, b| a + b)?, pack.size());
                worker.barrier()
            });
        }
    }

    fn the_pack_of_a_pack_and_the_leaders_of_leaders_are_the_same_group(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let me = worker.worker_id();
                for group in [worker.clone(), worker.split(Some(0), -i64::from(me))?.unwrap()] {
                    let pack = group.my_pack();
                    // The same group: a message sent on one is received on the other.
                    pack.send(me, 0)?;
                    if pack.rank() == 0 {
                        for rank in 0..pack.size() {
                            assert_eq!(Some(pack.my_pack().recv(rank)?), pack.worker_of(rank));
                        }
                    }
                    let Some(leaders) = group.pack_leaders() else { continue };
                    assert_eq!(leaders.pack_leaders().unwrap().all_gather(me)?.len(), leaders.size() as usize);
                    // Groups of one worker, each with messages of its own.
                    let alone = [leaders.my_pack(), pack.pack_leaders().unwrap()];
                    for (value, one) in alone.iter().enumerate() {
                        one.send(value, 0)?;
                    }
                    for (value, one) in alone.iter().enumerate().rev() {
                        assert_eq!((one.size(), one.recv::<usize>(0)?), (1, value));
                        one.barrier()?;
                    }
                }
                worker.barrier()
            });
        }
    }

    fn a_split_orders_by_key_and_omits_workers_without_a_color(backend) {
        for shape in SHAPES {
            backend.run(shape, |worker| {
                let (me, size) = (worker.worker_id(), worker.burst_size());
                let color = (me % 3 < 2).then_some(me % 3);
                // Backwards, so that the members of a pack are separate and out of order.
                let group = worker.split(color, -i64::from(me))?;
                assert_eq!(group.is_some(), color.is_some());
                let Some(group) = group else { return Ok(()) };
                let members: Vec<u32> = (0..size).rev().filter(|w| w % 3 == me % 3).collect();
                assert_eq!((0..group.size()).map(|r| group.worker_of(r).unwrap()).collect::<Vec<_>>(), members);
                assert_eq!(members[group.rank() as usize], me);

                let text = |workers: &[u32]| workers.iter().map(|w| format!("[{w}]")).collect::<String>();
                let mine = format!("[{me}]");
                let rank = group.rank() as usize;
                for root in 0..group.size() {
                    let all = group.reduce(mine.clone(), root, |a, b| a + &b)?;
                    assert_eq!(all, (group.rank() == root).then(|| text(&members)));
                }
                assert_eq!(group.scan(mine, |a, b| a + &b)?, text(&members[..=rank]));
                let values = members.iter().map(|&to| (me, to)).collect();
                let got = group.all_to_all(values)?;
                assert_eq!(got, members.iter().map(|&from| (from, me)).collect::<Vec<_>>());
                let sums = group.reduce_scatter(vec![1u32; members.len()], |a, b| a + b)?;
                assert_eq!(sums as usize, members.len());
                let mut ones = vec![1u64; 100];
                group.reduce_elements(&mut ones, 0, burst_bcm::Reducer::Sum)?;
                assert!(rank > 0 || ones == vec![members.len() as u64; 100]);
                group.barrier()
            });
        }
    }

    fn messages_of_groups_are_kept_apart(backend) {
        backend.run(&[2, 2], |worker| {
            let me = worker.worker_id();
            let half = worker.split(Some(me / 2), 0)?.unwrap();
            let other = worker.split(Some(me % 2), 0)?.unwrap();
            // Three messages to three workers with the same rank and tag, or two to the same
            // worker.
            worker.send("world".to_owned(), me)?;
            half.send("half".to_owned(), 1 - half.rank())?;
            other.send("other".to_owned(), 1 - other.rank())?;
            assert_eq!(other.recv::<String>(1 - other.rank())?, "other");
            assert_eq!(half.recv_any::<String>(Tag(0))?, (1 - half.rank(), "half".to_owned()));
            assert_eq!(worker.recv::<String>(me)?, "world");
            Ok(())
        });
    }
}

//! Messages cut into chunks: every size around the chunk size arrives bit for bit.

use crate::harness::pattern;
use crate::on_every_backend;

on_every_backend! {
    fn sizes_around_the_chunk_size_arrive_whole(backend) {
        let chunk = 64;
        let sizes = [0, 1, 63, 64, 65, 127, 128, 129, 640, 1000, 4096];
        let results = backend.run_with(&[1, 2], backend.chunked(chunk), |worker| {
            for &size in &sizes {
                let me = worker.worker_id();
                match me {
                    0 => worker.send(pattern(size, 0, 1), 1)?,
                    1 => assert_eq!(worker.recv::<Vec<u8>>(0)?, pattern(size, 0, 1)),
                    _ => {}
                }
                let value = (me == 0).then(|| pattern(size, 0, 2));
                assert_eq!(*worker.broadcast(value, 0)?, pattern(size, 0, 2));
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 3]);
    }

    fn an_empty_message_arrives_under_chunking(backend) {
        let results = backend.run_with(&[1, 1], backend.chunked(1), |worker| {
            let peer = 1 - worker.worker_id();
            worker.send(Vec::<f64>::new(), peer)?;
            worker.send((), peer)?;
            worker.send(String::new(), peer)?;
            assert!(worker.recv::<Vec<f64>>(peer)?.is_empty());
            worker.recv::<()>(peer)?;
            assert_eq!(worker.recv::<String>(peer)?, "");
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 2]);
    }

    fn chunks_of_one_byte_keep_numbers_whole(backend) {
        let values: Vec<f64> = (0..12).map(|i| f64::from(i) * 1.1).collect();
        let results = backend.run_with(&[1, 1], backend.chunked(1), |worker| {
            if worker.worker_id() == 0 {
                worker.send(values.clone(), 1)
            } else {
                assert_eq!(worker.recv::<Vec<f64>>(0)?, values);
                Ok(())
            }
        });
        assert_eq!(results, vec![Ok(()); 2]);
    }

    fn large_messages_both_ways_at_once(backend) {
        let size = 6 << 20;
        let results = backend.run_with(&[2, 2], backend.chunked(256 << 10), |worker| {
            let me = worker.worker_id();
            let peer = (me + 2) % 4;
            worker.send(pattern(size, me, peer), peer)?;
            assert!(worker.recv::<Vec<u8>>(peer)? == pattern(size, peer, me));
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 4]);
    }

    fn a_large_broadcast_arrives_whole(backend) {
        let size = 5 << 20;
        let results = backend.run_with(&[2, 1, 1], backend.chunked(300_000), |worker| {
            for root in [0, 3] {
                let value = (worker.worker_id() == root).then(|| pattern(size, root, 9));
                assert!(*worker.broadcast(value, root)? == pattern(size, root, 9));
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 4]);
    }
}

//! Tests for `direct` only: its own connections, which strangers may try too.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, Pack, PackConfig, PackId, Topology, testing};

use crate::harness::{OPERATION_TIMEOUT, promised, under_watchdog};

const SECRET: &str = "the flare's secret";

fn config(pack: u32, secret: &str) -> PackConfig {
    let mut config = PackConfig::new(
        "direct-test",
        PackId(pack),
        Topology::new(&[1, 1, 1]).unwrap(),
    );
    config.backend = BackendConfig::new("direct");
    config.secret = secret.into();
    config.operation_timeout = OPERATION_TIMEOUT;
    config
}

#[test]
fn strangers_are_refused_and_disturb_nobody() {
    under_watchdog(|| {
        let packs = testing::packs(&[1, 1], &BackendConfig::new("direct"), |_| {}).unwrap();
        let endpoint = packs[0].endpoint().unwrap();
        let garbage = [vec![], vec![0u8; 10], vec![0xff; 96], vec![0u8; 5000]];
        let strangers: Vec<_> = garbage
            .iter()
            .map(|bytes| {
                let mut stream = TcpStream::connect(&endpoint).unwrap();
                let _ = stream.write_all(bytes);
                stream
            })
            .collect();
        let results = testing::run_on(&packs, |worker| {
            for _ in 0..10 {
                worker.barrier()?;
            }
            Ok(())
        });
        assert_eq!(results, vec![Ok(()); 2]);
        for (mut stream, bytes) in strangers.into_iter().zip(garbage) {
            if bytes.len() >= 96 {
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer);
                assert!(answer.len() <= 40, "nothing follows the challenge");
            }
        }
    });
}

#[test]
fn packs_connect_despite_many_strangers() {
    under_watchdog(|| {
        // Over TCP, which everybody can reach.
        let backend = BackendConfig::new("direct").with_uri("tcp:");
        let packs = testing::packs(&[1, 1, 1], &backend, |_| {}).unwrap();
        let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        let over = AtomicBool::new(false);
        let mut half_open: Vec<_> = endpoints
            .iter()
            .flat_map(|endpoint| std::iter::repeat_n(endpoint, 400))
            .map(|endpoint| TcpStream::connect(endpoint).unwrap())
            .collect();
        std::thread::scope(|scope| {
            // A port scan, by a scanner that comes back when it is turned away.
            scope.spawn(|| {
                for endpoint in endpoints.iter().cycle() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    drop(TcpStream::connect(endpoint));
                    half_open.extend(TcpStream::connect(endpoint));
                    half_open.swap_remove(0);
                }
            });
            let results = testing::run_on(&packs, |worker| {
                // Connections for messages, and for offers.
                for _ in 0..10 {
                    worker.all_to_all(vec![vec![1u8; 100]; 3])?;
                    worker.all_to_all(vec![vec![1u8; 3 << 20]; 3])?;
                }
                worker.barrier()
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(results, vec![Ok(()); 3]);
        });
    });
}

#[test]
fn a_stranger_that_keeps_sending_is_cut_off_in_time() {
    under_watchdog(|| {
        let packs = testing::packs(&[1, 1], &BackendConfig::new("direct"), |_| {}).unwrap();
        let mut stranger = TcpStream::connect(packs[0].endpoint().unwrap()).unwrap();
        stranger
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let begun = Instant::now();
        let mut challenge = [0; 40];
        stranger.read_exact(&mut challenge).unwrap();
        loop {
            // One byte of the proof at a time.
            let _ = stranger.write_all(b"B");
            match stranger.read(&mut challenge) {
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Ok(_) => panic!("nothing follows the challenge"),
                Err(_) => {}
            }
        }
        promised(Duration::from_secs(3), begun);
    });
}

#[test]
fn a_pack_with_another_secret_cannot_join() {
    under_watchdog(|| {
        let packs: Vec<_> = [(0, SECRET), (1, "another"), (2, SECRET)]
            .into_iter()
            .map(|(pack, secret)| Pack::join(config(pack, secret)).unwrap())
            .collect();
        let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        let error = packs[1].start(endpoints).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Backend {
                    pack: Some(PackId(2)),
                    ..
                }
            ),
            "{error}"
        );
        assert!(!error.to_string().contains("another"), "{error}");
    });
}

#[test]
fn without_a_secret_nobody_joins() {
    let error = Pack::join(config(0, "")).unwrap_err();
    assert!(
        matches!(error, Error::InvalidConfiguration { .. }),
        "{error}"
    );
}

/// Like packs in sandboxes, which share no network.
#[test]
fn packs_connect_on_inherited_sockets() {
    under_watchdog(|| {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..3)
            .map(|pack| directory.path().join(pack.to_string()))
            .collect();
        let listeners: Vec<_> = paths
            .iter()
            .map(|path| Arc::new(OwnedFd::from(UnixListener::bind(path).unwrap())))
            .collect();
        // Consecutive flares use the same sockets.
        for _ in 0..3 {
            let packs = testing::packs(&[2, 2, 2], &BackendConfig::new("direct"), |config| {
                let pack = config.pack.0 as usize;
                config.advertise = format!("unix:{}", paths[pack].display());
                config.listener = Some(Arc::clone(&listeners[pack]));
            })
            .unwrap();
            let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
            assert!(
                endpoints
                    .iter()
                    .all(|endpoint| endpoint.starts_with("unix:/"))
            );
            let results = testing::run_on(&packs, |worker| {
                worker.all_to_all(vec![vec![1u8; 100]; 6])?;
                worker.all_to_all(vec![vec![1u8; 3 << 20]; 6])?;
                worker.barrier()
            });
            assert_eq!(results, vec![Ok(()); 6]);
        }
    });
}

#[test]
fn a_pack_without_its_socket_does_not_start() {
    let mut config = config(0, SECRET);
    config.advertise = "unix:/nowhere".to_owned();
    let error = Pack::join(config).unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error}");
}

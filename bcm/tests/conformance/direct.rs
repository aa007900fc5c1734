//! What only `direct` has: strangers, and peers whose process dies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use burst_bcm::{BackendConfig, Error, FailureKind, Pack, PackConfig, Topology, testing};

use crate::harness::under_watchdog;

const SECRET: &str = "the flare's secret";

fn config(pack: u32, secret: &str) -> PackConfig {
    let mut config = PackConfig::new("direct-test", pack, Topology::new(&[1, 1, 1]).unwrap());
    config.backend = BackendConfig::new("direct");
    config.secret = secret.into();
    config.operation_timeout = Duration::from_secs(20);
    config
}

/// Not a test: pack 2 in a process of its own, which the test below starts and kills.
#[test]
#[ignore = "started by a_pack_that_dies_is_noticed_by_all"]
fn pack_in_a_process() {
    let pack = Pack::join(config(2, SECRET)).unwrap();
    println!("endpoint {}", pack.endpoint().unwrap());
    let mut endpoints = String::new();
    std::io::stdin().read_line(&mut endpoints).unwrap();
    pack.start(endpoints.split_whitespace().map(str::to_owned).collect())
        .unwrap();
    let worker = pack.communicators().remove(0);
    worker.barrier().unwrap();
    println!("running");
    let _ = worker.recv::<u8>(0);
}

struct Process {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "direct::pack_in_a_process",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// What follows a word in the output.
    fn said(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the process ended without saying {word:?}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pack_that_dies_is_noticed_by_all() {
    let mut process = Process::start();
    under_watchdog(move || {
        let packs: Vec<_> = (0..2)
            .map(|p| Pack::join(config(p, SECRET)).unwrap())
            .collect();
        let mut endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        endpoints.push(process.said("endpoint"));
        writeln!(
            process.child.stdin.as_mut().unwrap(),
            "{}",
            endpoints.join(" ")
        )
        .unwrap();
        for pack in &packs {
            pack.start(endpoints.clone()).unwrap();
        }
        let workers: Vec<_> = packs.iter().flat_map(Pack::communicators).collect();
        std::thread::scope(|scope| {
            for worker in &workers {
                scope.spawn(|| worker.barrier().unwrap());
            }
        });
        process.said("running");
        let killed = std::sync::OnceLock::new();
        std::thread::scope(|scope| {
            for worker in &workers {
                let killed = &killed;
                scope.spawn(move || {
                    // One waits for the lost pack, the other one for a pack that is well.
                    let error = worker.recv::<u8>(2 - worker.worker_id()).unwrap_err();
                    let killed: &Instant = killed.wait();
                    assert!(killed.elapsed() < Duration::from_secs(1));
                    let Error::Aborted(failure) = error else {
                        panic!("expected an abort, not {error}");
                    };
                    assert_eq!(
                        (failure.kind, failure.pack),
                        (FailureKind::PackLost, Some(2))
                    );
                });
            }
            killed.set(Instant::now()).unwrap();
            process.child.kill().unwrap();
        });
    });
}

#[test]
fn strangers_are_turned_away_and_disturb_nobody() {
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
fn a_pack_with_another_secret_cannot_join() {
    under_watchdog(|| {
        let packs: Vec<_> = [(0, SECRET), (1, SECRET), (2, "another")]
            .into_iter()
            .map(|(pack, secret)| Pack::join(config(pack, secret)).unwrap())
            .collect();
        let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        let error = packs[2].start(endpoints).unwrap_err();
        assert!(
            matches!(error, Error::Backend { pack: Some(0), .. }),
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

#[test]
fn a_peer_that_is_not_there_is_an_error_that_names_it() {
    under_watchdog(|| {
        let packs: Vec<_> = (0..3)
            .map(|p| Pack::join(config(p, SECRET)).unwrap())
            .collect();
        let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        packs[1].close();
        let error = packs[0].start(endpoints.clone()).unwrap_err();
        assert!(
            matches!(error, Error::Backend { pack: Some(1), .. }),
            "{error}"
        );
        assert!(error.to_string().contains(&endpoints[1]), "{error}");
        let error = packs[2].start(endpoints[..2].to_vec()).unwrap_err();
        assert!(
            matches!(error, Error::InvalidConfiguration { .. }),
            "{error}"
        );
    });
}

#[test]
fn a_pack_whose_work_is_short_waits_for_those_that_have_not_connected_yet() {
    under_watchdog(|| {
        let packs: Vec<Pack> = (0..3)
            .map(|pack| Pack::join(config(pack, SECRET)).unwrap())
            .collect();
        let endpoints: Vec<String> = packs.iter().filter_map(Pack::endpoint).collect();
        let (closed, closing) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                packs[0].start(endpoints.clone()).unwrap();
                packs[0].close();
                closed.send(()).unwrap();
            });
            let early = closing.recv_timeout(Duration::from_millis(100));
            assert!(early.is_err(), "it was gone before the others connected");
            packs[1].start(endpoints.clone()).unwrap();
            packs[2].start(endpoints.clone()).unwrap();
            closing.recv_timeout(Duration::from_secs(3)).unwrap();
        });
    });
}

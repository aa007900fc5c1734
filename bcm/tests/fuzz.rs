//! A short, deterministic version of `make fuzz`: the corpus and damaged copies of it go through
//! all code that reads bytes from outside. A panic or a hang fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use burst_bcm::fuzzing;

const ROUNDS: usize = 3000;
const WATCHDOG: Duration = Duration::from_secs(600);

/// A small generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let kept = files.iter().map(|file| std::fs::read(file).unwrap());
    let made = fuzzing::seeds()
        .into_iter()
        .filter(|(name, _)| *name == target);
    kept.chain(made.map(|(_, bytes)| bytes)).collect()
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0xff, b'*', b'$'][random.below(6)],
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.below(256) as u8),
            _ => {
                let copied = bytes[at..].to_vec();
                bytes.extend_from_slice(&copied[..copied.len().min(500)]);
            }
        }
        bytes.truncate(10_000);
    }
}

fn run(target: &'static str, function: fn(&[u8])) {
    let (done, finished) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let corpus = corpus(target);
        assert!(!corpus.is_empty());
        corpus.iter().for_each(|bytes| function(bytes));
        let mut random = Random(1);
        for _ in 0..ROUNDS {
            let mut bytes = corpus[random.below(corpus.len())].clone();
            damage(&mut bytes, &mut random);
            function(&bytes);
        }
        let _ = done.send(());
    });
    if finished.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("{target} hangs");
    }
    thread.join().unwrap();
}

#[test]
fn headers() {
    run("header", fuzzing::header);
}

#[test]
fn frames() {
    run("frames", fuzzing::frames);
}

#[test]
fn replies() {
    run("replies", fuzzing::replies);
}

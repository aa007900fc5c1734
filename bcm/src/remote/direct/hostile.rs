//! A pack of the flare that knows the secret and sends whatever it likes. Nothing in the other pack
//! may grow without bound, and that pack continues, or its flare fails with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::dialler::Dialler;
use super::handshake::{Credentials, Purpose};
use super::membership;
use super::watch::EXPLANATION;
use crate::address::{Class, Destination};
use crate::config::BackendConfig;
use crate::error::Error;
use crate::pack::Pack;
use crate::pack_id::PackId;
use crate::payload::Encoding;
use crate::tag::Tag;
use crate::testing;
use crate::wire::{HEADER_SIZE, Header, Kind, flare_digest};

const MAX_MESSAGE: usize = 1 << 20;
const BOUND: usize = 256 << 10;
/// A context in which no worker waits.
const NOBODYS: u32 = 999;

/// Pack 1, the victim, and pack 0, as which the attacker sends.
struct Flare {
    packs: Vec<Pack>,
    digest: [u8; 16],
    dialler: Dialler,
}

/// What must happen to the flare.
enum Then {
    GoesOn,
    Fails(&'static str),
}
use Then::{Fails, GoesOn};

impl Flare {
    fn start() -> Self {
        let name = std::sync::Mutex::new(String::new());
        let backend = BackendConfig::new("direct");
        let packs = testing::packs(&[1, 1], &backend, |config| {
            config.max_message = MAX_MESSAGE;
            config.max_bytes_in_flight = BOUND;
            *name.lock().unwrap() = config.flare_id.clone();
        })
        .unwrap();
        let name = name.into_inner().unwrap();
        let digest = flare_digest(&name);
        let dialler = Dialler::new(
            PackId(0),
            Credentials::new(&name.as_str().into(), digest),
            false,
        );
        let endpoints: Vec<_> = packs.iter().filter_map(Pack::endpoint).collect();
        dialler.learn(&endpoints).unwrap();
        Self {
            packs,
            digest,
            dialler,
        }
    }

    fn dial(&self) -> Socket {
        self.dialler.dial(PackId(1), Purpose::Frames).unwrap()
    }

    /// The header of an empty message that nobody waits for.
    fn header(&self) -> Header {
        Header {
            kind: Kind::Data,
            flare: self.digest,
            pack: PackId(0),
            source: 0,
            destination: Destination::Worker(1),
            context: NOBODYS,
            class: Class::Point { tag: Tag(0) },
            sequence: 0,
            total: 0,
            chunk: 0,
            chunks: 1,
            encoding: Encoding::U8,
            fingerprint: 0,
            checksum: 0,
        }
    }

    /// Runs a script against the pack.
    fn play(&self, script: impl FnOnce(Header) -> Vec<u8>, then: Then) {
        let mut stream = self.dial();
        let before = self.packs[1].traffic().messages_received;
        // The victim hangs up when it notices.
        let _ = stream.write_all(&script(self.header()));
        match then {
            GoesOn => {
                let last = Header {
                    context: NOBODYS + 1,
                    ..self.header()
                };
                stream.write_all(&last.encode()).unwrap();
                self.goes_on(|| self.packs[1].traffic().messages_received > before);
            }
            Fails(reason) => self.fails(reason),
        }
        let most = self.packs[1].traffic().most_bytes_in_flight as usize;
        assert!(most <= BOUND + MAX_MESSAGE, "{most} bytes in flight");
    }

    fn goes_on(&self, attacked: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !attacked() {
            assert!(Instant::now() < until, "the script was not read to its end");
            thread::sleep(Duration::from_millis(1));
        }
        let results = testing::run_on(&self.packs, |worker| {
            worker.barrier()?;
            worker.all_to_all(vec![vec![7u8; 100_000]; 2]).map(drop)
        });
        assert_eq!(results, vec![Ok(()); 2]);
    }

    fn fails(&self, reason: &str) {
        let worker = self.packs[1].communicators().remove(0);
        match worker.recv::<u8>(0).unwrap_err() {
            Error::Aborted(failure) => {
                assert!(
                    failure.message.contains(reason),
                    "{failure:?}, not {reason}"
                );
                assert_eq!(failure.pack, Some(PackId(0)));
            }
            other => panic!("{other}"),
        }
    }
}

fn play(name: &str, script: impl FnOnce(Header) -> Vec<u8>, then: Then) {
    println!("{name}");
    Flare::start().play(script, then);
}

/// A frame with a changed header, and as much payload as the header says.
fn frame(header: Header) -> Vec<u8> {
    let mut bytes = header.encode().to_vec();
    bytes.resize(HEADER_SIZE + header.total as usize, 1);
    bytes
}

fn poke(header: Header, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = frame(header);
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

#[test]
fn invalid_frames_fail_the_flare() {
    play(
        "no header",
        |_| vec![0; HEADER_SIZE],
        Fails("not a message"),
    );
    play("noise", |_| vec![0xff; 100_000], Fails("not a message"));
    play(
        "a version to come",
        |it| poke(it, 4, &[9]),
        Fails("version 9"),
    );
    play(
        "an unknown kind",
        |it| poke(it, 5, &[200]),
        Fails("unknown"),
    );
    play(
        "an unknown encoding",
        |it| poke(it, 7, &[200]),
        Fails("unknown"),
    );
    play(
        "an unknown operation",
        |it| poke(it, 6, &[200]),
        Fails("unknown"),
    );
}

#[test]
fn a_false_sender_or_destination_fails_the_flare() {
    let changed = |name, change: fn(&mut Header), reason| {
        let script = |mut header: Header| {
            change(&mut header);
            frame(header)
        };
        play(name, script, Fails(reason));
    };
    changed("the other pack", |it| it.pack = PackId(1), "sending pack 1");
    changed("no pack", |it| it.pack = PackId(u32::MAX), "sending pack");
    changed("another's worker", |it| it.source = 1, "source 1");
    changed("no worker", |it| it.source = u32::MAX, "source");
    changed(
        "to itself",
        |it| it.destination = Destination::Worker(0),
        "destination 0",
    );
    changed(
        "to nobody",
        |it| it.destination = Destination::Worker(77),
        "destination 77",
    );
}

/// Each field of the header is valid on its own.
#[test]
fn a_message_to_a_group_from_outside_fails_the_flare() {
    let flare = Flare::start();
    let alone = flare.packs[1].communicators().remove(0).my_pack();
    let header = Header {
        context: alone.group.context,
        ..flare.header()
    };
    let mut stream = flare.dial();
    stream.write_all(&header.encode()).unwrap();
    let received = alone.recv_any::<Vec<u8>>(Tag(0));
    assert!(matches!(received, Err(Error::Aborted(_))), "{received:?}");
    flare.fails("source 0");
}

#[test]
fn impossible_lengths_fail_the_flare() {
    let layout = |total: u64, chunk: u32, chunks: u32| {
        move |header: Header| {
            let header = Header {
                total,
                chunk,
                chunks,
                ..header
            };
            header.encode().to_vec()
        }
    };
    play("endless", layout(u64::MAX, 0, 1), Fails("at most"));
    play(
        "too much",
        layout(1 + MAX_MESSAGE as u64, 0, 1),
        Fails("at most"),
    );
    play(
        "more than a window",
        layout(BOUND as u64, 0, 1),
        Fails("window"),
    );
    play("no chunks", layout(10, 0, 0), Fails("cannot be part"));
    play(
        "more chunks than bytes",
        layout(10, 0, 11),
        Fails("cannot be part"),
    );
    play(
        "endless chunks",
        layout(1 << 20, 0, u32::MAX),
        Fails("cannot be part"),
    );
    play(
        "a chunk too many",
        layout(10, 2, 2),
        Fails("cannot be part"),
    );
    let other_layout = |header: Header| {
        let whole = Header {
            total: 10,
            chunks: 2,
            ..header
        };
        let other = Header { total: 12, ..whole };
        let mut bytes = whole.encode().to_vec();
        bytes.extend([0; 5]);
        bytes.extend(other.encode());
        bytes
    };
    play("two lengths", other_layout, Fails("cannot be part"));
    let part = |header: Header| {
        let header = Header {
            total: 7,
            encoding: Encoding::F64,
            ..header
        };
        frame(header)
    };
    play("half a number", part, Fails(""));
    let bundle = |header: Header| {
        let header = Header {
            total: 8,
            encoding: Encoding::Bundle,
            ..header
        };
        let mut bytes = header.encode().to_vec();
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    play("an empty bundle", bundle, Fails("damaged"));
    let failure = |header: Header| {
        let header = Header {
            kind: Kind::Abort,
            total: 2 << 20,
            ..header
        };
        header.encode().to_vec()
    };
    play("a failure without end", failure, Fails("at most"));
}

#[test]
fn floods_are_bounded() {
    let many = |count: u32, kind: Kind, total: u64| {
        move |header: Header| {
            (0..count)
                .flat_map(|context| {
                    let header = Header {
                        kind,
                        total,
                        context: NOBODYS + 2 + context,
                        ..header
                    };
                    header.encode()
                })
                .collect()
        }
    };
    play(
        "messages for nobody",
        many(100_000, Kind::Data, 0),
        Fails("window"),
    );
    play(
        "offers",
        many(100_000, Kind::Offer, 100_000),
        Fails("offered at once"),
    );
    play("grants", many(10_000, Kind::Grant, 0), GoesOn);
    play("credits", many(10_000, Kind::Credit, u64::MAX), GoesOn);
    play("complaints", many(100_000, Kind::Waiting, 0), GoesOn);
}

#[test]
fn meaningless_frames_change_nothing() {
    let twice = |header: Header| [frame(header), frame(header)].concat();
    play("the same message twice", twice, GoesOn);
    let far = |header: Header| {
        let header = Header {
            sequence: u64::MAX,
            ..header
        };
        frame(header)
    };
    play("the last message first", far, GoesOn);
    let others = |header: Header| {
        let header = Header {
            flare: [9; 16],
            total: 10_000,
            ..header
        };
        let goodbye = Header::notice(Kind::Goodbye, [9; 16], PackId(0), 0);
        [frame(header), frame(goodbye), frame(goodbye)].concat()
    };
    play("of another flare", others, GoesOn);
    let stored = |header: Header| {
        let header = Header {
            kind: Kind::Stored,
            ..header
        };
        frame(header)
    };
    play("stored where nothing is", stored, GoesOn);
}

#[test]
fn a_peer_that_hangs_up_within_a_frame_is_lost() {
    for length in [1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 99] {
        let flare = Flare::start();
        let header = Header {
            total: 100,
            ..flare.header()
        };
        let mut stream = flare.dial();
        stream.write_all(&frame(header)[..length]).unwrap();
        drop(stream);
        flare.fails("without a goodbye");
    }
}

#[test]
fn a_packs_connections_are_limited() {
    let flare = Flare::start();
    let streams: Vec<_> = (0..membership::MOST + 4)
        .filter_map(|_| flare.dialler.dial(PackId(1), Purpose::Frames).ok())
        .collect();
    // The other pack's own connections may be made before or after.
    assert!(
        streams.len() <= membership::MOST,
        "{} connections",
        streams.len()
    );
}

#[test]
fn a_peer_that_hangs_up_before_its_first_frame_is_not_lost() {
    let flare = Flare::start();
    let until = Instant::now() + 2 * EXPLANATION;
    while Instant::now() < until {
        drop(flare.dial());
        flare.goes_on(|| true);
    }
}

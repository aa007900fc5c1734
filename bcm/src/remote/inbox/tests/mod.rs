//! The inbox under everything a backend may do, and some things it must not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod grants;

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;
use crate::address::Class;
use crate::cancellation::WaitBudget;
use crate::local::MatchSpec;
use crate::operation::Operation;
use crate::payload;
use crate::remote::{Bundle, Frame};
use crate::tag::Tag;
use crate::wire::{Layout, flare_digest};

const LIMIT: u64 = 64 << 10;
/// The sending pack.
const OTHER: PackId = PackId(1);

/// Records the control frames that the inbox sends.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(PackId, Header)>>);

impl Backend for Recorder {
    fn send(&self, _: &[PackId], _: &[Frame<'_>], _: &mut WaitBudget<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn control(&self, to: PackId, frame: &Frame<'_>) -> Result<(), Error> {
        self.0.lock().push((to, frame.header));
        Ok(())
    }
    fn close(&self) {}
}

struct Setup {
    inbox: Arc<Inbox>,
    recorder: Arc<Recorder>,
}

/// Pack 0 with workers 0 and 1; pack 1, which sends, has workers 2 and 3.
fn setup() -> Setup {
    let inbox = Inbox::new(InboxConfig {
        flare: flare_digest("f"),
        pack: PackId(0),
        topology: Topology::new(&[2, 2]).unwrap(),
        max_message: 1 << 20,
        max_bytes_in_flight: LIMIT,
        cancellation: Arc::new(Cancellation::new(2, None, Duration::from_secs(60))),
        mailboxes: Arc::new(Mailboxes::new(0, 2)),
    });
    let recorder = Arc::new(Recorder::default());
    let backend: Arc<dyn Backend> = recorder.clone();
    inbox.attach(Arc::downgrade(&backend));
    Setup { inbox, recorder }
}

impl Inbox {
    /// The inbox of the first of two packs with one worker each.
    pub(crate) fn of_two_packs(flare: [u8; 16]) -> Arc<Self> {
        Self::new(InboxConfig {
            flare,
            pack: PackId(0),
            topology: Topology::new(&[1, 1]).unwrap(),
            max_message: 1 << 20,
            max_bytes_in_flight: 1 << 20,
            cancellation: Arc::new(Cancellation::new(1, None, Duration::from_secs(5))),
            mailboxes: Arc::new(Mailboxes::new(0, 1)),
        })
    }
}

impl Setup {
    fn take(&self) -> Option<Vec<u8>> {
        let class = Class::Point { tag: Tag(0) };
        let want = MatchSpec {
            context: 0,
            source: 2,
            class,
        };
        let mailbox = self.inbox.config.mailboxes.of(0).unwrap();
        let message = mailbox.try_take(&want).unwrap()?;
        Some(
            message
                .open(Operation::Recv, crate::Peer::Worker(2))
                .unwrap(),
        )
    }

    fn recorded(&self) -> Vec<(PackId, Header)> {
        std::mem::take(&mut *self.recorder.0.lock())
    }
}

/// A message from worker 2 to worker 0, in frames.
fn message(sequence: u64, value: &Vec<u8>, chunk_size: usize) -> Vec<(Header, Vec<u8>)> {
    let encoded = payload::encode(Operation::Send, value).unwrap();
    let layout = Layout::cut(value.len(), chunk_size);
    (0..layout.chunks())
        .map(|chunk| {
            let header = Header {
                kind: Kind::Data,
                flare: flare_digest("f"),
                pack: OTHER,
                source: 2,
                destination: Destination::Worker(0),
                context: 0,
                class: Class::Point { tag: Tag(0) },
                sequence,
                total: value.len() as u64,
                chunk,
                chunks: layout.chunks(),
                encoding: encoded.encoding,
                fingerprint: encoded.fingerprint,
                checksum: 0,
            };
            (header, value[layout.range(chunk)].to_vec())
        })
        .collect()
}

proptest! {
    #[test]
    fn duplicates_and_disorder_change_nothing(
        sizes in prop::collection::vec(0usize..200, 1..12),
        chunk_size in 1usize..80,
        copies in 1usize..4,
        seed: u64,
    ) {
        let setup = setup();
        let values: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(i, &size)| vec![i as u8; size]).collect();
        let mut frames: Vec<_> = (0..)
            .zip(&values)
            .flat_map(|(sequence, value)| message(sequence, value, chunk_size))
            .flat_map(|frame| vec![frame; copies])
            .collect();
        // A cheap shuffle that proptest can replay.
        let mut state = seed | 1;
        for index in (1..frames.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            frames.swap(index, (state >> 33) as usize % (index + 1));
        }
        for (header, payload) in &frames {
            setup.inbox.accept(header, payload).unwrap();
        }
        for value in values {
            prop_assert_eq!(setup.take(), Some(value));
        }
        prop_assert_eq!(setup.take(), None);
        // Once more, after all have been received.
        for (header, payload) in &frames {
            setup.inbox.accept(header, payload).unwrap();
        }
        prop_assert_eq!(setup.take(), None);
    }
}

#[test]
fn a_chunk_that_was_read_in_part_may_arrive_again() {
    let setup = setup();
    let frames = message(0, &vec![9; 10], 5);
    let Ok(PayloadTarget::Chunk(mut chunk)) = setup.inbox.open(&frames[0].0) else {
        panic!("a new chunk has a place");
    };
    chunk.bytes()[..2].copy_from_slice(&[1, 1]);
    drop(chunk);
    for (header, payload) in &frames {
        setup.inbox.accept(header, payload).unwrap();
    }
    assert_eq!(setup.take(), Some(vec![9; 10]));
}

#[test]
fn invalid_frames_are_refused() {
    let setup = setup();
    let (good, payload) = message(0, &vec![1; 10], 100).remove(0);
    let refused = |change: fn(&mut Header)| {
        let mut header = good;
        change(&mut header);
        setup.inbox.accept(&header, &payload).unwrap_err()
    };
    assert_eq!(
        refused(|h| h.flare = flare_digest("g")),
        WireError::OtherFlare
    );
    assert!(matches!(
        refused(|h| h.pack = PackId(0)),
        WireError::Invalid { .. }
    ));
    assert!(matches!(
        refused(|h| h.pack = PackId(7)),
        WireError::Invalid { .. }
    ));
    assert!(matches!(
        refused(|h| h.source = 0),
        WireError::Invalid { .. }
    ));
    assert!(matches!(
        refused(|h| h.source = 9),
        WireError::Invalid { .. }
    ));
    let elsewhere = |h: &mut Header| h.destination = Destination::Worker(3);
    assert!(matches!(refused(elsewhere), WireError::Invalid { .. }));
    assert!(matches!(
        refused(|h| h.total = u64::MAX),
        WireError::TooLarge { .. }
    ));
    assert!(matches!(refused(|h| h.total = LIMIT), WireError::Window));
    assert!(matches!(
        refused(|h| h.total = 11),
        WireError::Length { .. }
    ));
    // A chunk that contradicts earlier ones.
    let halves = message(1, &vec![1; 10], 5);
    setup.inbox.accept(&halves[0].0, &halves[0].1).unwrap();
    let thirds = message(1, &vec![1; 10], 4);
    let contradicted = setup.inbox.accept(&thirds[1].0, &thirds[1].1);
    assert!(matches!(contradicted, Err(WireError::Layout { .. })));
}

#[test]
fn a_lost_pack_fails_the_flare_and_the_others_are_notified() {
    let setup = setup();
    setup
        .inbox
        .lost(OTHER, "its connection ended without a goodbye");
    let ended = setup.inbox.config.cancellation.ended().unwrap().to_string();
    assert!(ended.contains("pack 1 was lost"), "{ended}");
    let told = setup.recorded();
    assert!(
        told.iter()
            .all(|(to, header)| *to == OTHER && header.kind == Kind::Abort)
    );
    assert_eq!(told.len(), 1);
}

#[test]
fn time_without_checks_does_not_make_a_pack_gone() {
    let setup = setup();
    setup.inbox.left(OTHER);
    std::thread::sleep(2 * endings::STRAGGLERS);
    assert!(!setup.inbox.is_gone(OTHER));
}

/// The report of the failure that made a pack leave may be slower than its goodbye, for senders as
/// well as for receivers.
#[test]
fn a_pack_that_has_just_left_is_not_gone() {
    let setup = setup();
    let cancellation = &setup.inbox.config.cancellation;
    let mut budget = WaitBudget::new(cancellation, Operation::Send);
    let begun = Instant::now();
    setup.inbox.left(OTHER);
    let key = (StreamKey::of(&message(0, &vec![], 1)[0].0), 0);
    let asked = setup.inbox.flow.wait_for_grant(
        key,
        &[OTHER],
        &mut budget,
        &*setup.recorder,
        |pack| setup.inbox.is_gone(pack),
        |_| Ok(()),
    );
    assert!(matches!(asked, Err(Error::Departed { .. })), "{asked:?}");
    assert!(begun.elapsed() >= endings::STRAGGLERS);
}

#[test]
fn an_abort_that_cannot_be_read_is_still_an_abort() {
    let setup = setup();
    let header = Header::notice(Kind::Abort, flare_digest("f"), OTHER, 3);
    setup.inbox.accept(&header, b"{x}").unwrap();
    let ended = setup.inbox.config.cancellation.ended().unwrap().to_string();
    assert!(ended.contains("pack 1"), "{ended}");
}

/// A bundle in one frame with a value of one worker for each of two others.
fn bundle(source: u32, destinations: [u32; 2]) -> (Header, Vec<u8>) {
    let values = [vec![1u8; 100], vec![2u8; 50]];
    let encoded = payload::encode(Operation::Send, &values[0]).unwrap();
    let mut bundle = Bundle::of(&encoded);
    for (destination, value) in destinations.into_iter().zip(&values) {
        bundle.push(source, Destination::Worker(destination), value);
    }
    let joined = Bundle::join(vec![bundle]).unwrap();
    let header = Header {
        encoding: joined.encoding,
        fingerprint: joined.fingerprint,
        total: joined.body.len() as u64,
        ..message(0, &vec![], 1)[0].0
    };
    (header, joined.body.into_owned())
}

#[test]
fn values_of_a_bundle_go_to_their_workers_and_share_its_permit() {
    let setup = setup();
    let (header, payload) = bundle(2, [0, 1]);
    setup.inbox.accept(&header, &payload).unwrap();
    setup.inbox.accept(&header, &payload).unwrap();
    let used = || setup.inbox.budget.lock().used();
    let whole = used();
    assert!(whole >= header.total);
    assert_eq!(setup.take(), Some(vec![1; 100]));
    assert_eq!((used(), setup.take()), (whole, None));
    let want = MatchSpec {
        context: 0,
        source: 2,
        class: Class::Point { tag: Tag(0) },
    };
    let mailbox = setup.inbox.config.mailboxes.of(1).unwrap();
    let message = mailbox.try_take(&want).unwrap().unwrap();
    let value: Vec<u8> = message
        .open(Operation::Recv, crate::Peer::Worker(2))
        .unwrap();
    assert_eq!((value, used()), (vec![2; 50], 0));
}

#[test]
fn a_bundle_with_values_of_or_for_others_fails_the_flare() {
    for (source, destinations) in [(0, [0, 1]), (9, [0, 1]), (2, [0, 2])] {
        let setup = setup();
        let (header, payload) = bundle(source, destinations);
        setup.inbox.accept(&header, &payload).unwrap();
        assert!(setup.inbox.is_over(), "{source} {destinations:?}");
        assert_eq!(setup.take(), None);
    }
}

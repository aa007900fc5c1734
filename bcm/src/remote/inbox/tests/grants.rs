//! Bounds on what is on its way, however much is sent or offered.

use super::*;

#[test]
fn eager_bytes_are_bounded_and_credited_when_received() {
    let setup = setup();
    let value = vec![5u8; 4000];
    let mut sent = 0;
    let refused = loop {
        let (header, payload) = message(sent, &value, 1 << 20).remove(0);
        match setup.inbox.accept(&header, &payload) {
            Ok(()) => sent += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, WireError::Window);
    assert!(sent * 4000 <= LIMIT / 2 && (sent + 1) * 4256 > LIMIT / 2);
    assert_eq!(setup.recorded(), []);
    for _ in 0..sent {
        assert!(setup.take().is_some());
    }
    let credits = setup.recorded();
    let told = credits
        .iter()
        .map(|(_, header)| header.total)
        .max()
        .unwrap();
    assert!(
        credits
            .iter()
            .all(|(to, header)| *to == OTHER && header.kind == Kind::Credit)
    );
    assert!(told > sent * 4256 / 2);
    // The rejected message is not lost: it can arrive again.
    let (header, payload) = message(sent, &value, 1 << 20).remove(0);
    setup.inbox.accept(&header, &payload).unwrap();
    assert_eq!(setup.take(), Some(value));
}

fn offer(sequence: u64, size: usize) -> Header {
    let (header, _) = message(sequence, &vec![0; size], 1 << 20).remove(0);
    Header {
        kind: Kind::Offer,
        ..header
    }
}

fn granted(setup: &Setup) -> Vec<u64> {
    let answers = setup.recorded();
    assert!(
        answers
            .iter()
            .all(|(to, h)| *to == OTHER && h.kind == Kind::Grant && h.pack == PackId(0))
    );
    answers.iter().map(|(_, header)| header.sequence).collect()
}

#[test]
fn offers_are_granted_when_there_is_room() {
    let setup = setup();
    for sequence in 0..4 {
        setup.inbox.accept(&offer(sequence, 15_000), &[]).unwrap();
    }
    assert_eq!(granted(&setup), [0, 1]);
    // Repeated offers: granted again without taking more room, or still waiting.
    setup.inbox.accept(&offer(0, 15_000), &[]).unwrap();
    setup.inbox.accept(&offer(3, 15_000), &[]).unwrap();
    assert_eq!(granted(&setup), [0]);
    let (header, payload) = message(0, &vec![0; 15_000], 1 << 20).remove(0);
    setup.inbox.accept(&header, &payload).unwrap();
    assert_eq!(granted(&setup), Vec::<u64>::new());
    assert!(setup.take().is_some());
    assert_eq!(granted(&setup), [2]);
}

#[test]
fn an_offer_that_a_worker_waits_for_is_granted_without_room() {
    let setup = setup();
    for sequence in 0..4 {
        setup.inbox.accept(&offer(sequence, 60_000), &[]).unwrap();
    }
    assert_eq!(granted(&setup), [0]);
    let key = StreamKey::of(&offer(0, 0));
    let expected = setup.inbox.expect(key);
    // One at a time: the sender decides how many more are offered.
    for sequence in 0..2 {
        assert_eq!(granted(&setup), Vec::<u64>::new());
        let (header, payload) = message(sequence, &vec![0; 60_000], 1 << 20).remove(0);
        setup.inbox.accept(&header, &payload).unwrap();
        assert_eq!(granted(&setup), [sequence + 1]);
    }
    drop(expected);
    let (header, payload) = message(2, &vec![0; 60_000], 1 << 20).remove(0);
    setup.inbox.accept(&header, &payload).unwrap();
    assert_eq!(granted(&setup), Vec::<u64>::new());
}

#[test]
fn earlier_offers_of_an_expected_stream_are_granted_first() {
    let setup = setup();
    let key = StreamKey::of(&offer(0, 0));
    let _expected = setup.inbox.expect(key);
    setup.inbox.accept(&offer(1, 30_000), &[]).unwrap();
    setup.inbox.accept(&offer(2, 30_000), &[]).unwrap();
    assert_eq!(granted(&setup), [1]);
    setup.inbox.accept(&offer(0, 30_000), &[]).unwrap();
    assert_eq!(granted(&setup), [0]);
    for sequence in [1, 0] {
        let (header, payload) = message(sequence, &vec![0; 30_000], 1 << 20).remove(0);
        setup.inbox.accept(&header, &payload).unwrap();
    }
    assert_eq!(granted(&setup), [2]);
}

/// The reason the flare has failed.
fn failure(setup: &Setup) -> Option<String> {
    match setup.inbox.config.cancellation.ended() {
        Some(Error::Aborted(failure)) => Some(failure.message.clone()),
        _ => None,
    }
}

#[test]
fn offers_of_a_pack_are_bounded_and_make_no_streams() {
    let setup = setup();
    let other = |context: u32| Header {
        context,
        ..offer(0, 30_000)
    };
    // The first one has room.
    for context in 0..=offers::MOST {
        setup.inbox.accept(&other(context), &[]).unwrap();
    }
    assert_eq!(failure(&setup), None);
    assert_eq!(setup.inbox.state.lock().streams.len(), 1);
    setup.inbox.accept(&other(1), &[]).unwrap();
    assert_eq!(failure(&setup), None, "it was made before");
    setup.inbox.accept(&other(u32::MAX), &[]).unwrap();
    let failure = failure(&setup).unwrap();
    assert!(failure.contains("offered at once"), "{failure}");
}

#[test]
fn streams_that_nobody_waits_for_are_bounded() {
    let setup = setup();
    let mut refused = None;
    for context in 0..100_000 {
        let (header, payload) = message(0, &Vec::new(), 1 << 20).remove(0);
        let header = Header { context, ..header };
        if let Err(error) = setup.inbox.accept(&header, &payload) {
            refused = Some(error);
            break;
        }
    }
    assert_eq!(refused, Some(WireError::Window));
    let streams = setup.inbox.state.lock().streams.len() as u64;
    assert!(streams <= LIMIT / 2 / 256, "{streams} streams");
}

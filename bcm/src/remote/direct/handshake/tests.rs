//! Tests of which peers are admitted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use super::*;

type Outcome<T> = Result<T, HandshakeError>;

fn shake_hands(dialler: Credentials, to: PackId) -> (Outcome<()>, Outcome<AuthenticatedPeer>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = thread::spawn(move || {
        let stream = Socket::from(TcpStream::connect(address).unwrap());
        introduce(&stream, &dialler, PackId(1), to, Purpose::Watch)
    });
    let stream = Socket::from(listener.accept().unwrap().0);
    let received = receive(&stream).inspect(|peer| peer.accept(&stream).unwrap());
    drop(stream);
    (other.join().unwrap(), received)
}

/// Receives a peer as pack 0 of two.
fn receive(stream: &Socket) -> Outcome<AuthenticatedPeer> {
    let credentials = Credentials::new(&"secret".into(), [7; 16]);
    let mut reception = Reception::begin(stream)?;
    loop {
        if let Some(peer) = reception.hear(stream, &credentials, PackId(0), 2)? {
            return Ok(peer);
        }
    }
}

#[test]
fn a_peer_that_knows_the_secret_is_accepted() {
    let (introduced, received) =
        shake_hands(Credentials::new(&"secret".into(), [7; 16]), PackId(0));
    introduced.unwrap();
    let peer = received.unwrap();
    assert_eq!((peer.pack, peer.purpose), (PackId(1), Purpose::Watch));
}

#[test]
fn a_peer_with_another_secret_is_refused() {
    let (introduced, received) = shake_hands(Credentials::new(&"guess".into(), [7; 16]), PackId(0));
    assert!(introduced.is_err());
    assert!(matches!(received, Err(HandshakeError::Secret)));
}

/// A proof from pack 1 to pack 0, for a challenge with this nonce, after a change.
fn proof(nonce: &[u8], change: impl FnOnce(&mut [u8; HELLO_SIZE])) -> Vec<u8> {
    let credentials = Credentials::new(&"secret".into(), [7; 16]);
    let mut hello = [0; HELLO_SIZE];
    hello[..4].copy_from_slice(&HELLO);
    hello[4] = VERSION;
    hello[8..12].copy_from_slice(&1u32.to_le_bytes());
    hello[16..32].copy_from_slice(&credentials.flare);
    change(&mut hello);
    let mac = credentials.mac(b"client", nonce, &hello).unwrap();
    [&hello[..], &mac.finalize().into_bytes()].concat()
}

/// The outcome of an answer to the listener's challenge.
fn answered(answer: impl FnOnce(&[u8]) -> Vec<u8>) -> Outcome<AuthenticatedPeer> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let ours = Socket::from(ours);
    let credentials = Credentials::new(&"secret".into(), [7; 16]);
    let mut reception = Reception::begin(&ours)?;
    let mut challenge = [0; CHALLENGE_SIZE];
    theirs.read_exact(&mut challenge).unwrap();
    theirs.write_all(&answer(&challenge[8..])).unwrap();
    theirs.shutdown(Shutdown::Write).unwrap();
    loop {
        if let Some(peer) = reception.hear(&ours, &credentials, PackId(0), 2)? {
            return Ok(peer);
        }
    }
}

#[test]
fn a_replayed_proof_is_refused() {
    let mut recorded = Vec::new();
    let peer = answered(|nonce| {
        recorded = proof(nonce, |_| {});
        recorded.clone()
    });
    assert_eq!(peer.unwrap().pack, PackId(1));
    let replayed = answered(|_| recorded.clone());
    assert!(matches!(replayed, Err(HandshakeError::Secret)));
}

#[test]
fn an_altered_proof_is_refused() {
    for bit in 0..8 * (HELLO_SIZE + CODE) {
        let changed = answered(|nonce| {
            let mut proof = proof(nonce, |_| {});
            proof[bit / 8] ^= 1 << (bit % 8);
            proof
        });
        assert!(changed.is_err(), "bit {bit}");
    }
    for length in 0..HELLO_SIZE + CODE {
        let cut = answered(|nonce| proof(nonce, |_| {})[..length].to_vec());
        assert!(cut.unwrap_err().is_turned_away(), "{length} bytes");
    }
}

#[test]
fn only_other_packs_of_the_flare_are_accepted() {
    let with = |at: usize, byte: u8| answered(|nonce| proof(nonce, |hello| hello[at] = byte));
    for (at, byte) in [(8, 0), (8, 2), (11, 1), (12, 1), (16, 8), (31, 6)] {
        assert!(
            matches!(with(at, byte), Err(HandshakeError::OtherPeer)),
            "{at}"
        );
    }
    for (at, byte) in [(0, b'X'), (4, VERSION + 1), (5, 2), (5, 255)] {
        assert!(
            matches!(with(at, byte), Err(HandshakeError::Protocol)),
            "{at}"
        );
    }
    assert_eq!(with(5, 1).unwrap().purpose, Purpose::Watch);
}

#[test]
fn a_dialler_gives_up_on_a_slow_listener() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut patience = Patience::of(Duration::from_millis(50));
    // Single bytes, for as long as somebody reads.
    let dribbling = thread::spawn(move || while theirs.write_all(&[0]).is_ok() {});
    let ours = Socket::from(ours);
    let mut buffer = vec![0; 1 << 30];
    let read = read_in_time(&ours, &mut buffer, &mut patience);
    assert!(matches!(read, Err(HandshakeError::Slow)));
    drop(ours);
    dribbling.join().unwrap();
}

#[test]
fn bytes_that_have_arrived_are_read_after_the_deadline() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&[1; CODE]).unwrap();
    let (ours, mut buffer) = (Socket::from(ours), [0; CODE]);
    read_in_time(&ours, &mut buffer, &mut Patience::of(Duration::ZERO)).unwrap();
    assert_eq!(buffer, [1; CODE]);
}

#[test]
fn another_flare_or_pack_is_refused() {
    let (_, received) = shake_hands(Credentials::new(&"secret".into(), [8; 16]), PackId(0));
    assert!(matches!(received, Err(HandshakeError::OtherPeer)));
    let (_, received) = shake_hands(Credentials::new(&"secret".into(), [7; 16]), PackId(1));
    assert!(matches!(received, Err(HandshakeError::OtherPeer)));
}

#[test]
fn a_listener_that_does_not_know_the_secret_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let dialler = thread::spawn(move || {
        let stream = Socket::from(TcpStream::connect(address).unwrap());
        let credentials = Credentials::new(&"secret".into(), [7; 16]);
        introduce(&stream, &credentials, PackId(1), PackId(0), Purpose::Frames)
    });
    let (mut stream, _) = listener.accept().unwrap();
    let mut challenge = [0; CHALLENGE_SIZE];
    challenge[..4].copy_from_slice(&CHALLENGE);
    challenge[4] = VERSION;
    stream.write_all(&challenge).unwrap();
    let mut hello = [0; HELLO_SIZE + CODE];
    stream.read_exact(&mut hello).unwrap();
    // The best it can do is to send back what it received.
    stream.write_all(&hello[HELLO_SIZE..]).unwrap();
    assert!(matches!(
        dialler.join().unwrap(),
        Err(HandshakeError::Secret)
    ));
}

#[test]
fn credentials_are_not_printed() {
    let credentials = Credentials::new(&"secret".into(), [7; 16]);
    assert!(!format!("{credentials:?}").contains("secret"));
}

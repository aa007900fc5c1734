//! Who may connect: both ends prove that they know the flare's secret without showing it.
//!
//! ```text
//! listener ─▶ challenge: magic, version, nonce
//! dialler  ─▶ hello: magic, version, purpose, pack, listener's pack, flare, nonce; then
//!             HMAC-SHA256(secret, "client", challenge's nonce, hello)
//! listener ─▶ HMAC-SHA256(secret, "server", challenge's nonce, hello)
//! ```
//!
//! Both nonces are new for every connection, so nothing that was recorded can be used again.
//! Codes are compared in constant time.

use std::fmt;
use std::io::{Read, Write};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use socket2::Socket;

use crate::config::Secret;

const VERSION: u8 = 2;
const CHALLENGE: [u8; 4] = *b"BRSC";
const HELLO: [u8; 4] = *b"BRSH";
const NONCE: usize = 32;
const CODE: usize = 32;
const CHALLENGE_SIZE: usize = 8 + NONCE;
const HELLO_SIZE: usize = 32 + NONCE;

/// How long either end may take for its part.
const TIMEOUT: Duration = Duration::from_secs(3);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Frames of messages, from the dialler to the listener.
    Frames,
    /// News of packs that have left or failed, both ways.
    Watch,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Frames, Self::Watch];
}

/// Why a connection does not come about. Tells a stranger nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the other end is not a pack of this version")]
    Protocol,
    #[error("the other end belongs to another flare or another pack")]
    Stranger,
    #[error("the other end does not know the flare's secret")]
    Secret,
    #[error("there is no randomness")]
    Randomness,
}

/// What the packs of a flare know each other by.
#[derive(Clone)]
pub(super) struct Credentials {
    secret: Secret,
    flare: [u8; 16],
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials([hidden])")
    }
}

impl Credentials {
    pub(super) fn new(secret: &Secret, flare: [u8; 16]) -> Self {
        Self {
            secret: secret.clone(),
            flare,
        }
    }

    /// What a pack that listens at this endpoint is called on its own machine: nothing anybody
    /// else could guess.
    pub(super) fn local_name(&self, endpoint: &str) -> [u8; 16] {
        let mut name = [0; 16];
        // The only key that cannot be used is none at all, which the configuration's check
        // refuses.
        if let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(self.secret.as_bytes()) {
            mac.update(b"local");
            mac.update(&self.flare);
            mac.update(endpoint.as_bytes());
            name.copy_from_slice(&mac.finalize().into_bytes()[..16]);
        }
        name
    }

    fn mac(
        &self,
        side: &[u8],
        nonce: &[u8],
        hello: &[u8; HELLO_SIZE],
    ) -> Result<Hmac<Sha256>, HandshakeError> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(self.secret.as_bytes())
            .map_err(|_| HandshakeError::Secret)?;
        mac.update(side);
        mac.update(nonce);
        mac.update(hello);
        Ok(mac)
    }
}

/// The dialling end: proves itself and checks the other end.
pub(super) fn introduce(
    mut stream: &Socket,
    credentials: &Credentials,
    pack: u32,
    to: u32,
    purpose: Purpose,
) -> Result<(), HandshakeError> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut challenge = [0; CHALLENGE_SIZE];
    stream.read_exact(&mut challenge)?;
    if challenge[..4] != CHALLENGE || challenge[4] != VERSION {
        return Err(HandshakeError::Protocol);
    }
    let mut hello = [0; HELLO_SIZE];
    hello[..4].copy_from_slice(&HELLO);
    hello[4] = VERSION;
    hello[5] = purpose as u8;
    hello[8..12].copy_from_slice(&pack.to_le_bytes());
    hello[12..16].copy_from_slice(&to.to_le_bytes());
    hello[16..32].copy_from_slice(&credentials.flare);
    hello[32..].copy_from_slice(&nonce()?);
    let code = credentials
        .mac(b"client", &challenge[8..], &hello)?
        .finalize()
        .into_bytes();
    stream.write_all(&[&hello[..], &code[..]].concat())?;

    let mut answer = [0; CODE];
    stream.read_exact(&mut answer)?;
    credentials
        .mac(b"server", &challenge[8..], &hello)?
        .verify_slice(&answer)
        .map_err(|_| HandshakeError::Secret)
}

/// Someone who has proved to be a pack of this flare, and waits for the answer.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) pack: u32,
    pub(super) purpose: Purpose,
    answer: [u8; CODE],
}

impl Guest {
    /// Lets the guest go on.
    pub(super) fn welcome(&self, mut stream: &Socket) -> std::io::Result<()> {
        stream.write_all(&self.answer)
    }
}

/// The listening end: checks whoever dialled.
pub(super) fn receive(
    mut stream: &Socket,
    credentials: &Credentials,
    pack: u32,
    packs: u32,
) -> Result<Guest, HandshakeError> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut challenge = [0; CHALLENGE_SIZE];
    challenge[..4].copy_from_slice(&CHALLENGE);
    challenge[4] = VERSION;
    challenge[8..].copy_from_slice(&nonce()?);
    stream.write_all(&challenge)?;

    let mut hello = [0; HELLO_SIZE];
    let mut code = [0; CODE];
    stream.read_exact(&mut hello)?;
    stream.read_exact(&mut code)?;
    if hello[..4] != HELLO || hello[4] != VERSION {
        return Err(HandshakeError::Protocol);
    }
    credentials
        .mac(b"client", &challenge[8..], &hello)?
        .verify_slice(&code)
        .map_err(|_| HandshakeError::Secret)?;
    let purpose = *Purpose::ALL
        .get(usize::from(hello[5]))
        .ok_or(HandshakeError::Protocol)?;
    let number = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&hello[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    let (from, to) = (number(8), number(12));
    if from >= packs || from == pack || to != pack || hello[16..32] != credentials.flare {
        return Err(HandshakeError::Stranger);
    }
    let mac = credentials.mac(b"server", &challenge[8..], &hello)?;
    Ok(Guest {
        pack: from,
        purpose,
        answer: mac.finalize().into_bytes().into(),
    })
}

fn nonce() -> Result<[u8; NONCE], HandshakeError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| HandshakeError::Randomness)?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    type Outcome<T> = Result<T, HandshakeError>;

    fn meet(dialler: Credentials, to: u32) -> (Outcome<()>, Outcome<Guest>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = thread::spawn(move || {
            let stream = Socket::from(TcpStream::connect(address).unwrap());
            introduce(&stream, &dialler, 1, to, Purpose::Watch)
        });
        let stream = Socket::from(listener.accept().unwrap().0);
        let credentials = Credentials::new(&"secret".into(), [7; 16]);
        let received =
            receive(&stream, &credentials, 0, 2).inspect(|guest| guest.welcome(&stream).unwrap());
        drop(stream);
        (other.join().unwrap(), received)
    }

    #[test]
    fn who_knows_the_secret_is_let_in() {
        let (introduced, received) = meet(Credentials::new(&"secret".into(), [7; 16]), 0);
        introduced.unwrap();
        let guest = received.unwrap();
        assert_eq!((guest.pack, guest.purpose), (1, Purpose::Watch));
    }

    #[test]
    fn who_does_not_is_not() {
        let (introduced, received) = meet(Credentials::new(&"guess".into(), [7; 16]), 0);
        assert!(introduced.is_err());
        assert!(matches!(received, Err(HandshakeError::Secret)));
    }

    #[test]
    fn another_flare_or_pack_is_a_stranger() {
        let (_, received) = meet(Credentials::new(&"secret".into(), [8; 16]), 0);
        assert!(matches!(received, Err(HandshakeError::Stranger)));
        let (_, received) = meet(Credentials::new(&"secret".into(), [7; 16]), 1);
        assert!(matches!(received, Err(HandshakeError::Stranger)));
    }

    #[test]
    fn a_listener_that_does_not_know_the_secret_is_found_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let dialler = thread::spawn(move || {
            let stream = Socket::from(TcpStream::connect(address).unwrap());
            let credentials = Credentials::new(&"secret".into(), [7; 16]);
            introduce(&stream, &credentials, 1, 0, Purpose::Frames)
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut challenge = [0; CHALLENGE_SIZE];
        challenge[..4].copy_from_slice(&CHALLENGE);
        challenge[4] = VERSION;
        stream.write_all(&challenge).unwrap();
        let mut hello = [0; HELLO_SIZE + CODE];
        stream.read_exact(&mut hello).unwrap();
        // The best it can do is to send back what it was sent.
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
}

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

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use socket2::Socket;

use crate::config::Secret;
use crate::pack_id::PackId;
use crate::remote::patience::Patience;

const VERSION: u8 = 2;
const CHALLENGE: [u8; 4] = *b"BRSC";
const HELLO: [u8; 4] = *b"BRSH";
const NONCE: usize = 32;
const CODE: usize = 32;
const CHALLENGE_SIZE: usize = 8 + NONCE;
const HELLO_SIZE: usize = 32 + NONCE;

/// How long the listener may take for its part: it may wait for a processor. Whether its pack is alive is not
/// found out here but by the watch.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often the dialler looks whether that time is over.
const LOOK: Duration = Duration::from_millis(100);

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

/// Why a connection does not come about. Tells who is not of the flare nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the other end is not a pack of this version")]
    Protocol,
    #[error("the other end takes too long")]
    Slow,
    #[error("the other end belongs to another flare or another pack")]
    OtherPeer,
    #[error("the other end does not know the flare's secret")]
    Secret,
    #[error("there is no randomness")]
    Randomness,
}

impl HandshakeError {
    /// Whether the other end has hung up in the middle, and not refused to be connected to.
    pub(super) fn is_turned_away(&self) -> bool {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let turned_away = [
            BrokenPipe,
            ConnectionAborted,
            ConnectionReset,
            UnexpectedEof,
        ];
        matches!(self, Self::Io(reason) if turned_away.contains(&reason.kind()))
    }
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
    pack: PackId,
    to: PackId,
    purpose: Purpose,
) -> Result<(), HandshakeError> {
    let mut patience = Patience::of(TIMEOUT);
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_read_timeout(Some(LOOK))?;
    let mut challenge = [0; CHALLENGE_SIZE];
    read_in_time(stream, &mut challenge, &mut patience)?;
    if challenge[..4] != CHALLENGE || challenge[4] != VERSION {
        return Err(HandshakeError::Protocol);
    }
    let mut hello = [0; HELLO_SIZE];
    hello[..4].copy_from_slice(&HELLO);
    hello[4] = VERSION;
    hello[5] = purpose as u8;
    hello[8..12].copy_from_slice(&pack.0.to_le_bytes());
    hello[12..16].copy_from_slice(&to.0.to_le_bytes());
    hello[16..32].copy_from_slice(&credentials.flare);
    hello[32..].copy_from_slice(&nonce()?);
    let code = credentials
        .mac(b"client", &challenge[8..], &hello)?
        .finalize()
        .into_bytes();
    stream.write_all(&[&hello[..], &code[..]].concat())?;

    let mut answer = [0; CODE];
    read_in_time(stream, &mut answer, &mut patience)?;
    credentials
        .mac(b"server", &challenge[8..], &hello)?
        .verify_slice(&answer)
        .map_err(|_| HandshakeError::Secret)
}

/// Fills a buffer in time, however little comes at once. What is there is read before it is late: this process may have
/// stood still.
fn read_in_time(
    mut stream: &Socket,
    mut buffer: &mut [u8],
    patience: &mut Patience,
) -> Result<(), HandshakeError> {
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => return Err(error.into()),
            },
        }
        if !buffer.is_empty() && patience.is_over() {
            return Err(HandshakeError::Slow);
        }
    }
    Ok(())
}

/// Someone who has proved to be a pack of this flare, and waits for the answer.
#[derive(Debug)]
pub(super) struct AuthenticatedPeer {
    pub(super) pack: PackId,
    pub(super) purpose: Purpose,
    answer: [u8; CODE],
}

impl AuthenticatedPeer {
    /// Lets it go on.
    pub(super) fn accept(&self, mut stream: &Socket) -> std::io::Result<()> {
        stream.write_all(&self.answer)
    }
}

/// The listening end, which never waits: challenges whoever dialled, and checks the answer.
#[derive(Debug)]
pub(super) struct Reception {
    nonce: [u8; NONCE],
    heard: [u8; HELLO_SIZE + CODE],
    filled: usize,
}

impl Reception {
    /// The stream is new and does not block.
    pub(super) fn begin(mut stream: &Socket) -> Result<Self, HandshakeError> {
        let nonce = nonce()?;
        let mut challenge = [0; CHALLENGE_SIZE];
        challenge[..4].copy_from_slice(&CHALLENGE);
        challenge[4] = VERSION;
        challenge[8..].copy_from_slice(&nonce);
        stream.write_all(&challenge)?;
        Ok(Self {
            nonce,
            heard: [0; HELLO_SIZE + CODE],
            filled: 0,
        })
    }

    /// Reads what has come; `None` while that is not all.
    pub(super) fn hear(
        &mut self,
        mut stream: &Socket,
        credentials: &Credentials,
        pack: PackId,
        packs: u32,
    ) -> Result<Option<AuthenticatedPeer>, HandshakeError> {
        while self.filled < self.heard.len() {
            match stream.read(&mut self.heard[self.filled..]) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(count) => self.filled += count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return Ok(None),
                    _ => return Err(error.into()),
                },
            }
        }
        self.check(credentials, pack, packs).map(Some)
    }

    fn check(
        &self,
        credentials: &Credentials,
        pack: PackId,
        packs: u32,
    ) -> Result<AuthenticatedPeer, HandshakeError> {
        let mut hello = [0; HELLO_SIZE];
        hello.copy_from_slice(&self.heard[..HELLO_SIZE]);
        if hello[..4] != HELLO || hello[4] != VERSION {
            return Err(HandshakeError::Protocol);
        }
        credentials
            .mac(b"client", &self.nonce, &hello)?
            .verify_slice(&self.heard[HELLO_SIZE..])
            .map_err(|_| HandshakeError::Secret)?;
        let purpose = *Purpose::ALL
            .get(usize::from(hello[5]))
            .ok_or(HandshakeError::Protocol)?;
        let number = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&hello[at..at + 4]);
            PackId(u32::from_le_bytes(bytes))
        };
        let (from, to) = (number(8), number(12));
        if from.0 >= packs || from == pack || to != pack || hello[16..32] != credentials.flare {
            return Err(HandshakeError::OtherPeer);
        }
        let mac = credentials.mac(b"server", &self.nonce, &hello)?;
        Ok(AuthenticatedPeer {
            pack: from,
            purpose,
            answer: mac.finalize().into_bytes().into(),
        })
    }
}

fn nonce() -> Result<[u8; NONCE], HandshakeError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| HandshakeError::Randomness)?;
    Ok(nonce)
}

//! Decides who may connect: both ends prove that they know the flare's secret without revealing it.
//!
//! ```text
//! listener ─▶ challenge: magic, version, nonce
//! dialler  ─▶ hello: magic, version, purpose, pack, listener's pack, flare, nonce; then
//!             HMAC-SHA256(secret, "client", challenge's nonce, hello)
//! listener ─▶ HMAC-SHA256(secret, "server", challenge's nonce, hello)
//! ```
//!
//! Both nonces are new for every connection, so nothing that was recorded can be replayed. Codes
//! are compared in constant time.

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

/// How long the listener may take for its part: it may wait for a processor. Whether its pack is
/// alive is decided by the watch, not here.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often the dialler checks whether that time is over.
const LOOK: Duration = Duration::from_millis(100);

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Frames of messages, from the dialler to the listener.
    Frames,
    /// News about packs that have left or failed, both ways.
    Watch,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Frames, Self::Watch];
}

/// Why a handshake failed. Reveals nothing to a peer that is not of the flare.
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
    /// Whether the other end hung up during the handshake, rather than refused the connection.
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

/// What the packs of a flare recognize each other by.
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

    /// The name of a pack's Unix socket on its own machine, derived from its endpoint; nobody
    /// without the secret can guess it.
    pub(super) fn local_name(&self, endpoint: &str) -> [u8; 16] {
        let mut name = [0; 16];
        // The only unusable key is an empty one, which the configuration's check rejects.
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

/// The dialling end: authenticates itself and checks the other end.
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

/// Fills a buffer in time, however little arrives at once. Reads before it checks the time: this
/// process may have stood still.
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

/// A peer that has authenticated as a pack of this flare, and waits for the answer.
#[derive(Debug)]
pub(super) struct AuthenticatedPeer {
    pub(super) pack: PackId,
    pub(super) purpose: Purpose,
    answer: [u8; CODE],
}

impl AuthenticatedPeer {
    /// Sends the answer, which admits the peer.
    pub(super) fn accept(&self, mut stream: &Socket) -> std::io::Result<()> {
        stream.write_all(&self.answer)
    }
}

/// The listening end, which never blocks: challenges the dialler and checks its answer.
#[derive(Debug)]
pub(super) struct Reception {
    nonce: [u8; NONCE],
    heard: [u8; HELLO_SIZE + CODE],
    filled: usize,
}

impl Reception {
    /// Sends the challenge. The stream must be new and non-blocking.
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

    /// Reads whatever has arrived; `None` until the hello is complete.
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

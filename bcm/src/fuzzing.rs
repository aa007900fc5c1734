//! The code that handles bytes from outside, as functions of those bytes, for the fuzzers in
//! `fuzz/`. Each must return whatever its input, without panicking or using much memory.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use crate::address::{Class, Destination};
use crate::cancellation::Cancellation;
use crate::mailboxes::Mailboxes;
use crate::operation::Operation;
use crate::pack_id::PackId;
use crate::payload::{self, Encoding};
use crate::remote::{Bundle, Inbox, InboxConfig, redis_replies};
use crate::tag::Tag;
use crate::topology::Topology;
use crate::wire::{HEADER_SIZE, Header, Kind, Layout, flare_digest};

/// The flare whose frames are accepted.
const FLARE: &str = "fuzz";
/// The most bytes written to a socket that nobody reads yet: more would not fit.
const LONGEST: usize = 64 << 10;

/// Decodes a header; an accepted one must encode to the bytes it was decoded from.
pub fn header(bytes: &[u8]) {
    if let Ok(header) = Header::decode(bytes) {
        assert_eq!(header.encode(), bytes[..HEADER_SIZE]);
        let _ = (header.layout(), header.payload_len());
        let _ = header.verify(&[]);
    }
}

/// Hands frame after frame to an inbox, as the readers of all backends do.
pub fn frames(mut bytes: &[u8]) {
    let inbox = inbox();
    while let Ok(header) = Header::decode(bytes) {
        let (_, rest) = bytes.split_at(HEADER_SIZE);
        let length = header.payload_len().unwrap_or(0).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        let _ = inbox.accept(&header, payload);
        bytes = rest;
    }
}

/// Reads replies as from a Redis server, including frames in them.
pub fn replies(bytes: &[u8]) {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    for inbox in [None, Some(inbox())] {
        let Ok((ours, mut theirs)) = UnixStream::pair() else {
            return;
        };
        if theirs.write_all(bytes).is_ok() && theirs.shutdown(Shutdown::Write).is_ok() {
            redis_replies(ours, inbox.as_deref());
        }
    }
}

/// Inputs to start from, by the name of the function they are for.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let payload: Vec<u8> = (0..100).collect();
    let layout = Layout::cut(payload.len(), 40);
    let mut message = Vec::new();
    let mut seeds = Vec::new();
    for chunk in 0..layout.chunks() {
        let mut header = Header {
            source: 2,
            destination: Destination::Worker(0),
            class: Class::Point { tag: Tag(7) },
            chunk,
            chunks: layout.chunks(),
            encoding: Encoding::Bytes,
            ..Header::notice(
                Kind::Data,
                flare_digest(FLARE),
                PackId(1),
                payload.len() as u64,
            )
        };
        let part = payload.get(layout.range(chunk)).unwrap_or_default();
        header.checksum = header.checksum_with(part);
        message.extend_from_slice(&header.encode());
        message.extend_from_slice(part);
        if chunk == 0 {
            seeds.push(("header", header.encode().to_vec()));
            let length = HEADER_SIZE + part.len();
            let mut popped = format!("*2\r\n$1\r\nk\r\n${length}\r\n").into_bytes();
            popped.extend_from_slice(&header.encode());
            popped.extend_from_slice(part);
            popped.extend_from_slice(b"\r\n");
            seeds.push(("replies", popped));
        }
    }
    for kind in [
        Kind::Offer,
        Kind::Grant,
        Kind::Credit,
        Kind::Goodbye,
        Kind::Waiting,
    ] {
        let header = Header::notice(kind, flare_digest(FLARE), PackId(1), 0);
        message.extend_from_slice(&header.encode());
    }
    message.extend_from_slice(&bundle());
    seeds.push(("frames", message));
    let several = b"+OK\r\n:7\r\n$-1\r\n*2\r\n$1\r\na\r\n*1\r\n$0\r\n\r\n-ERR no\r\n";
    seeds.push(("replies", several.to_vec()));
    seeds
}

/// A bundle of two values of worker 2 for workers 0 and 1, as a frame.
fn bundle() -> Vec<u8> {
    let value = 7u64;
    let Ok(encoded) = payload::encode(Operation::AllToAll, &value) else {
        return Vec::new();
    };
    let mut bundle = Bundle::of(&encoded);
    for worker in 0..2 {
        bundle.push(2, Destination::Worker(worker), &encoded.body);
    }
    let Some(joined) = Bundle::join(vec![bundle]) else {
        return Vec::new();
    };
    let total = joined.body.len() as u64;
    let header = Header {
        source: 2,
        destination: Destination::Worker(0),
        encoding: joined.encoding,
        ..Header::notice(Kind::Data, flare_digest(FLARE), PackId(1), total)
    };
    [&header.encode()[..], &joined.body].concat()
}

/// The inbox of pack 0, with workers 0 and 1; pack 1 has workers 2 and 3.
fn inbox() -> Arc<Inbox> {
    Inbox::new(InboxConfig {
        flare: flare_digest(FLARE),
        pack: PackId(0),
        topology: Topology::new(&[2, 2]).unwrap_or_else(|_| unreachable!("two packs of two")),
        max_message: 1 << 20,
        max_bytes_in_flight: 64 << 10,
        cancellation: Arc::new(Cancellation::new(2, None, Duration::from_secs(1))),
        mailboxes: Arc::new(Mailboxes::new(0, 2)),
    })
}

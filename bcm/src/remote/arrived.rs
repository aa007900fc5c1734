//! A message that arrived from another pack.

use super::permit::Permit;
use crate::payload::{Body, Encoding};

/// A whole message from another pack, not decoded yet.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(super) encoding: Encoding,
    pub(super) fingerprint: u64,
    pub(super) body: Body,
    pub(super) permit: Option<Permit>,
}

impl Arrived {
    /// Returns the bytes; from here on they belong to the worker and no longer count as in flight.
    pub(crate) fn into_parts(self) -> (Encoding, u64, Body) {
        drop(self.permit);
        (self.encoding, self.fingerprint, self.body)
    }
}

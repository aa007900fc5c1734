//! Messages between packs.

use crate::control::Patience;
use crate::error::Error;
use crate::failure::Failure;
use crate::message::Class;
use crate::payload::{Buffer, Encoded, Encoding};
use crate::shared::Destination;

#[derive(Debug)]
pub(crate) struct Arrived {
    encoding: Encoding,
    fingerprint: u64,
    buffer: Buffer,
}

impl Arrived {
    pub(crate) fn into_parts(self) -> (Encoding, u64, Buffer) {
        (self.encoding, self.fingerprint, self.buffer)
    }
}

/// The way to the other packs.
#[derive(Debug)]
pub(crate) struct Remote {}

impl Remote {
    pub(crate) fn send(
        &self,
        _: (u32, u32),
        _: u32,
        _: Class,
        _: &Encoded<'_>,
        _: &mut Patience<'_>,
    ) -> Result<(), Error> {
        Err(Error::NotStarted)
    }

    pub(crate) fn broadcast(
        &self,
        _: (u32, u32),
        _: &[u32],
        _: Class,
        _: &Encoded<'_>,
        _: &mut Patience<'_>,
    ) -> Result<(), Error> {
        Err(Error::NotStarted)
    }

    pub(crate) fn expect(&self, _: Destination, _: u32, _: u32) {}

    pub(crate) fn departed(&self, _: u32) -> bool {
        false
    }

    pub(crate) fn abort(&self, _: &Failure) {}

    pub(crate) fn wake_all(&self) {}
}

//! Checks whether a header can be valid in this flare: anyone may have sent it.

use super::Inbox;
use crate::address::Destination;
use crate::pack_id::PackId;
use crate::wire::{Header, Kind, WireError};

/// The longest description of a failure that another pack may send, in bytes.
const LARGEST_FAILURE: u64 = 1 << 20;

/// Checks a header with news about one of `packs` packs, relayed by another one; returns the number
/// of bytes that follow.
pub(crate) fn check_news(header: &Header, packs: u32) -> Result<usize, WireError> {
    if header.pack.0 >= packs {
        return Err(WireError::Invalid {
            field: "pack",
            value: header.pack.0.into(),
        });
    }
    if header.total > LARGEST_FAILURE {
        return Err(WireError::TooLarge {
            total: header.total,
            limit: LARGEST_FAILURE,
        });
    }
    header.payload_len()
}

impl Inbox {
    pub(super) fn check(&self, header: &Header) -> Result<(), WireError> {
        let config = &self.config;
        let invalid = |field, value: u32| {
            Err(WireError::Invalid {
                field,
                value: value.into(),
            })
        };
        if header.flare != config.flare {
            return Err(WireError::OtherFlare);
        }
        if header.pack == config.pack || header.pack.0 >= config.topology.num_packs() {
            return invalid("sending pack", header.pack.0);
        }
        let limit = match header.kind {
            Kind::Data | Kind::Stored | Kind::Offer | Kind::Grant => config.max_message,
            Kind::Credit => u64::MAX,
            Kind::Abort | Kind::Goodbye => LARGEST_FAILURE,
            Kind::Waiting => 0,
        };
        if header.total > limit {
            return Err(WireError::TooLarge {
                total: header.total,
                limit,
            });
        }
        if matches!(
            header.kind,
            Kind::Data | Kind::Stored | Kind::Offer | Kind::Waiting
        ) {
            self.check_ends(header.pack, header.source, header.destination)?;
        }
        Ok(())
    }

    /// Checks that a message can come from this worker of that pack, and can be for this
    /// destination.
    pub(super) fn check_ends(
        &self,
        pack: PackId,
        source: u32,
        destination: Destination,
    ) -> Result<(), WireError> {
        let (field, value) = match destination {
            _ if self.config.topology.pack_of(source) != Some(pack) => ("source", source),
            Destination::Worker(worker) if self.config.mailboxes.of(worker).is_none() => {
                ("destination", worker)
            }
            _ => return Ok(()),
        };
        Err(WireError::Invalid {
            field,
            value: value.into(),
        })
    }
}

//! The task of a receiving thread: takes one frame after another from a list.

use super::super::keys::Keys;
use super::super::resp::Exchange;
use super::super::resp_error::RespError;
use super::super::threads::{End, Line, Task};
use super::super::value;
use super::commands;
use crate::remote::inbox::{Inbox, PayloadTarget};
use crate::wire::{Header, Kind};

/// The seconds a server waits before it replies that there is nothing.
const BLOCK_SECONDS: &[u8] = b"1";

/// Takes frames from one list.
pub(super) struct Receiver {
    list: String,
    keys: Keys,
}

impl Receiver {
    pub(super) fn new(keys: &Keys, list: String) -> Self {
        Self {
            list,
            keys: keys.clone(),
        }
    }

    fn read_stored(
        &self,
        exchange: &mut Exchange<'_>,
        inbox: &Inbox,
        header: &Header,
    ) -> Result<(), End> {
        let header = Header {
            kind: Kind::Data,
            ..*header
        };
        // A chunk that arrived before was also released before.
        let PayloadTarget::Chunk(mut chunk) = inbox.open(&header)? else {
            return Ok(());
        };
        let key = self.keys.chunk(&header);
        exchange.command(&[&[b"GET"], &[key.as_bytes()]])?;
        let Some(length) = exchange.begin(b'$')? else {
            let gone = "a stored chunk is gone before it was read".to_owned();
            return Err(RespError::Refused(gone).into());
        };
        value::check(chunk.bytes().len(), length)?;
        exchange.rest(chunk.bytes())?;
        chunk.verify_and_commit()?;
        commands::release(exchange, &key)?;
        Ok(())
    }
}

impl Task for Receiver {
    /// Takes one frame from the list, or nothing after a second.
    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        line.exchange(|exchange, inbox| {
            exchange.command(&[&[b"BLPOP"], &[self.list.as_bytes()], &[BLOCK_SECONDS]])?;
            if exchange.begin(b'*')?.is_none() {
                return Ok(());
            }
            value::skip(exchange)?;
            match value::read(exchange, inbox)? {
                Some(header) => self.read_stored(exchange, inbox, &header),
                None => Ok(()),
            }
        })
    }

    /// An entry that the server popped for a connection that broke is lost.
    fn resumes(&self) -> bool {
        false
    }
}

//! What a receiving thread does: takes one frame after another from a list.

use super::super::resp::{Client, GoOn};
use super::super::resp_error::RespError;
use super::super::threads::{End, Line, Task};
use super::super::value;
use super::commands::{self, Keys};
use crate::remote::inbox::{Inbox, Incoming};
use crate::wire::{Header, Kind};

/// Seconds a server waits before it says that there is nothing.
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
        client: &mut Client,
        inbox: &Inbox,
        header: &Header,
        go_on: GoOn<'_>,
    ) -> Result<(), End> {
        let header = Header {
            kind: Kind::Data,
            ..*header
        };
        // What has been here before was also released before.
        let Incoming::Chunk(mut chunk) = inbox.open(&header)? else {
            return Ok(());
        };
        let key = self.keys.cast(&header);
        client.command(&[&[b"GET"], &[key.as_bytes()]], go_on)?;
        let Some(length) = client.begin(b'$', go_on)? else {
            let gone = "a stored chunk is gone before it was read".to_owned();
            return Err(RespError::Refused(gone).into());
        };
        value::check(chunk.bytes().len(), length)?;
        client.bulk(chunk.bytes(), go_on)?;
        client.end_bulk(go_on)?;
        chunk.verify_and_commit()?;
        commands::release(client, &key, go_on)?;
        Ok(())
    }
}

impl Task for Receiver {
    /// Takes one frame from the list, or nothing after a second.
    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        let (client, inbox, attention) = line.parts()?;
        let go_on: GoOn<'_> = &mut || attention.go_on();
        client.command(
            &[&[b"BLPOP"], &[self.list.as_bytes()], &[BLOCK_SECONDS]],
            go_on,
        )?;
        if client.begin(b'*', go_on)?.is_none() {
            return Ok(());
        }
        value::skip(client, go_on)?;
        let stored = value::read(client, inbox, go_on)?;
        match stored {
            Some(header) => self.read_stored(client, inbox, &header, go_on),
            None => Ok(()),
        }
    }

    /// What the server popped for a connection that broke is gone.
    fn resumes(&self) -> bool {
        false
    }
}

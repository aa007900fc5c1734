//! What a reading thread does: takes the entries of one stream in their order, and remembers
//! where it is when its connection breaks.

use std::time::SystemTime;

use super::super::keys::expiry;
use super::super::resp::{Client, GoOn};
use super::super::resp_error::RespError;
use super::super::threads::{End, Line, Task};
use super::super::value;
use super::commands::{self, Keys};
use crate::config::PackConfig;
use crate::remote::inbox::Inbox;
use crate::wire::Kind;

/// Longest id of an entry: two numbers of 64 bits.
const LONGEST_ID: usize = 48;

/// Reads one stream.
pub(super) struct Reader {
    keys: Keys,
    pack: u32,
    /// Packs that read the common stream.
    readers: u32,
    deadline: Option<SystemTime>,
    stream: String,
    common: bool,
    /// The last entry that is finished.
    after: Vec<u8>,
    /// Finished entries that are still in the stream.
    done: Vec<Vec<u8>>,
    /// Entries many read that were read, with where that is to be noted.
    read: Vec<(Vec<u8>, String)>,
}

impl Reader {
    pub(super) fn new(keys: &Keys, config: &PackConfig, stream: String) -> Self {
        Self {
            keys: keys.clone(),
            pack: config.pack,
            readers: config.topology.num_packs() - 1,
            deadline: config.deadline,
            common: stream == keys.cast(),
            stream,
            after: b"0".to_vec(),
            done: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Reads one entry.
    fn entry(&mut self, client: &mut Client, inbox: &Inbox, go_on: GoOn<'_>) -> Result<(), End> {
        expect(client.begin(b'*', go_on)?, 2)?;
        let length = client.begin(b'$', go_on)?.unwrap_or(0);
        if length > LONGEST_ID {
            return Err(RespError::Protocol.into());
        }
        let mut id = vec![0; length];
        client.bulk(&mut id, go_on)?;
        client.end_bulk(go_on)?;
        expect(client.begin(b'*', go_on)?, 2)?;
        value::skip(client, go_on)?;
        let (header, length) = value::begin(client, go_on)?;
        let new = value::receive(client, inbox, &header, length, go_on)?;
        if !self.common {
            self.done.push(id.clone());
        } else if new && header.kind == Kind::Data {
            self.read.push((id.clone(), self.keys.readers(&header)));
        }
        self.after = id;
        Ok(())
    }
}

impl Task for Reader {
    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        let (client, inbox, attention) = line.parts()?;
        let go_on: GoOn<'_> = &mut || attention.go_on();
        let (me, expiry) = ((self.pack, self.readers), expiry(self.deadline));
        while let Some((id, readers)) = self.read.last() {
            if commands::note(client, readers, me, expiry, go_on)? {
                self.done.push(id.clone());
            }
            self.read.pop();
        }
        let removing = !self.done.is_empty();
        if removing {
            commands::remove(client, &self.stream, &self.done, go_on)?;
        }
        commands::read(client, &self.stream, &self.after, go_on)?;
        if removing {
            client.expect(1, go_on)?;
            self.done.clear();
        }
        let Some(streams) = client.begin(b'*', go_on)? else {
            return Ok(());
        };
        expect(Some(streams), 1)?;
        expect(client.begin(b'*', go_on)?, 2)?;
        value::skip(client, go_on)?;
        let entries = client.begin(b'*', go_on)?.unwrap_or(0);
        for _ in 0..entries {
            self.entry(client, inbox, go_on)?;
        }
        Ok(())
    }
}

fn expect(found: Option<usize>, expected: usize) -> Result<(), RespError> {
    match found == Some(expected) {
        true => Ok(()),
        false => Err(RespError::Protocol),
    }
}

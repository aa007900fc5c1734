//! The task of a reading thread: takes the entries of one stream in order, and remembers its
//! position when its connection breaks.

use std::time::SystemTime;

use super::super::keys::{Keys, expiry};
use super::super::resp::Exchange;
use super::super::resp_error::RespError;
use super::super::threads::{End, Line, Task};
use super::super::value;
use super::commands;
use crate::config::PackConfig;
use crate::pack_id::PackId;
use crate::remote::inbox::Inbox;
use crate::wire::Kind;

/// The longest id of an entry: two numbers of 64 bits.
const LONGEST_ID: usize = 48;

/// Reads one stream.
pub(super) struct Reader {
    keys: Keys,
    pack: PackId,
    /// The number of packs that read the common stream.
    readers: u32,
    deadline: Option<SystemTime>,
    stream: String,
    common: bool,
    /// The last entry that is finished.
    after: Vec<u8>,
    /// Finished entries that are still in the stream.
    done: Vec<Vec<u8>>,
    /// Common entries that were read, with the key where that must be recorded.
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
    fn entry(&mut self, exchange: &mut Exchange<'_>, inbox: &Inbox) -> Result<(), End> {
        expect(exchange.begin(b'*')?, 2)?;
        let length = exchange.begin(b'$')?.unwrap_or(0);
        if length > LONGEST_ID {
            return Err(RespError::Protocol.into());
        }
        let mut id = vec![0; length];
        exchange.rest(&mut id)?;
        expect(exchange.begin(b'*')?, 2)?;
        value::skip(exchange)?;
        let (header, length) = value::begin(exchange)?;
        let new = value::receive(exchange, inbox, &header, length)?;
        if !self.common {
            self.done.push(id.clone());
        } else if new && header.kind == Kind::Data {
            self.read.push((id.clone(), self.keys.chunk(&header)));
        }
        self.after = id;
        Ok(())
    }

    /// Reads new entries, and deletes finished ones from the stream.
    fn read(&mut self, exchange: &mut Exchange<'_>, inbox: &Inbox) -> Result<(), End> {
        let (me, expiry) = ((self.pack, self.readers), expiry(self.deadline));
        while let Some((id, readers)) = self.read.last() {
            if commands::note(exchange, readers, me, expiry)? {
                self.done.push(id.clone());
            }
            self.read.pop();
        }
        let removing = !self.done.is_empty();
        if removing {
            commands::remove(exchange, &self.stream, &self.done)?;
        }
        commands::read(exchange, &self.stream, &self.after)?;
        if removing {
            exchange.expect(1)?;
            self.done.clear();
        }
        match exchange.begin(b'*')? {
            None => return Ok(()),
            streams => expect(streams, 1)?,
        }
        expect(exchange.begin(b'*')?, 2)?;
        value::skip(exchange)?;
        let entries = exchange.begin(b'*')?.unwrap_or(0);
        for _ in 0..entries {
            self.entry(exchange, inbox)?;
        }
        Ok(())
    }
}

impl Task for Reader {
    fn step(&mut self, line: &mut Line) -> Result<(), End> {
        line.exchange(|exchange, inbox| self.read(exchange, inbox))
    }
}

fn expect(found: Option<usize>, expected: usize) -> Result<(), RespError> {
    match found == Some(expected) {
        true => Ok(()),
        false => Err(RespError::Protocol),
    }
}

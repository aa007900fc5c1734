//! The receiving threads of a pack: one for control frames, the others for messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::commands::{self, Keys};
use super::resp::{Client, GoOn, RespError};
use super::server::{Hook, Server};
use super::{connect, error, failed};
use crate::error::Error;
use crate::remote::inbox::{Inbox, Incoming};
use crate::wire::{HEADER_SIZE, Header, Kind, WireError};

/// Threads that take messages: one waits for the server while the other reads.
const THREADS: usize = 2;
/// Seconds a server waits before it says that there is nothing.
const BLOCK_SECONDS: &[u8] = b"1";
/// How long a server may say nothing at all, which it does every second when it is well.
const SILENCE: Duration = Duration::from_secs(6);

/// The receiving threads of a pack.
#[derive(Debug)]
pub(super) struct Receivers {
    closing: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    hooks: Vec<Hook>,
}

struct Receiver {
    closing: Arc<AtomicBool>,
    inbox: Arc<Inbox>,
    list: String,
    client: Client,
    /// For what many packs read; connected when there is such a thing.
    reader: Reader,
}

/// Reads chunks that lie under keys of their own.
struct Reader {
    server: Server,
    keys: Keys,
    client: Option<Client>,
}

/// Why a thread ends.
enum End {
    Server(RespError),
    Frame(WireError),
}

impl From<RespError> for End {
    fn from(error: RespError) -> Self {
        Self::Server(error)
    }
}

impl From<WireError> for End {
    fn from(error: WireError) -> Self {
        Self::Frame(error)
    }
}

impl Receivers {
    pub(super) fn start(
        server: &Server,
        keys: &Keys,
        pack: u32,
        inbox: Arc<Inbox>,
    ) -> Result<Self, Error> {
        let mut receivers = Self {
            closing: Arc::new(AtomicBool::new(false)),
            threads: Mutex::default(),
            hooks: Vec::new(),
        };
        for number in 0..=THREADS {
            let list = match number {
                0 => keys.control(pack),
                _ => keys.pack(pack),
            };
            let client = connect(server)?;
            receivers.hooks.push(client.hook().map_err(failed)?);
            let receiver = Receiver {
                closing: Arc::clone(&receivers.closing),
                inbox: Arc::clone(&inbox),
                list,
                client,
                reader: Reader {
                    server: server.clone(),
                    keys: keys.clone(),
                    client: None,
                },
            };
            let thread = thread::Builder::new()
                .name("bcm-redis".to_owned())
                .spawn(move || receiver.run())
                .map_err(|reason| error(format!("cannot start a thread: {reason}")))?;
            receivers.threads.lock().push(thread);
        }
        Ok(receivers)
    }

    /// Ends the threads. Does nothing the second time.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        for hook in &self.hooks {
            hook.cut();
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Receivers {
    /// Also when not all of them could be started.
    fn drop(&mut self) {
        self.close();
    }
}

impl Receiver {
    fn run(mut self) {
        while !self.closing.load(Ordering::Acquire) {
            let Err(end) = self.take() else {
                continue;
            };
            if !self.closing.load(Ordering::Acquire) {
                match end {
                    End::Server(reason) => self.inbox.broken(&failed(reason)),
                    End::Frame(reason) => self.inbox.refused(None, &reason),
                }
            }
            return;
        }
    }

    /// Takes one frame from the list, or nothing after a second.
    fn take(&mut self) -> Result<(), End> {
        let since = Instant::now();
        let closing = &*self.closing;
        let go_on: GoOn<'_> = &mut || {
            if closing.load(Ordering::Acquire) {
                return Err(Error::Closed);
            }
            match since.elapsed() < SILENCE {
                true => Ok(()),
                false => Err(error(format!(
                    "the server has said nothing for {SILENCE:?}"
                ))),
            }
        };
        let client = &mut self.client;
        client.command(
            &[&[b"BLPOP"], &[self.list.as_bytes()], &[BLOCK_SECONDS]],
            go_on,
        )?;
        if client.begin(b'*', go_on)?.is_none() {
            return Ok(());
        }
        let key = client.begin(b'$', go_on)?.unwrap_or(0);
        client.skip(key, go_on)?;
        client.end_bulk(go_on)?;
        let length = client.begin(b'$', go_on)?.unwrap_or(0);
        let mut header = [0; HEADER_SIZE];
        if length < HEADER_SIZE {
            return Err(WireError::Truncated(length).into());
        }
        client.bulk(&mut header, go_on)?;
        let header = Header::decode(&header)?;
        let length = length - HEADER_SIZE;
        if header.kind == Kind::Stored {
            client.skip(length, go_on)?;
            client.end_bulk(go_on)?;
            return self.reader.read(&self.inbox, &header, go_on);
        }
        check(header.payload_len()?, length)?;
        match self.inbox.open(&header)? {
            Incoming::Chunk(mut chunk) => {
                client.bulk(chunk.bytes(), go_on)?;
                client.end_bulk(go_on)?;
                chunk.commit();
            }
            Incoming::Notice(length) => {
                let mut payload = vec![0; length];
                client.bulk(&mut payload, go_on)?;
                client.end_bulk(go_on)?;
                self.inbox.notice(&header, &payload);
            }
            Incoming::Skip(length) => {
                client.skip(length, go_on)?;
                client.end_bulk(go_on)?;
            }
        }
        Ok(())
    }
}

impl Reader {
    fn read(&mut self, inbox: &Inbox, header: &Header, go_on: GoOn<'_>) -> Result<(), End> {
        let header = Header {
            kind: Kind::Data,
            ..*header
        };
        // What has been here before was also released before.
        let Incoming::Chunk(mut chunk) = inbox.open(&header)? else {
            return Ok(());
        };
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(&self.server, go_on)?),
        };
        let key = self.keys.cast(&header);
        client.command(&[&[b"GET"], &[key.as_bytes()]], go_on)?;
        let Some(length) = client.begin(b'$', go_on)? else {
            let gone = "a stored chunk is gone before it was read".to_owned();
            return Err(RespError::Refused(gone).into());
        };
        check(chunk.bytes().len(), length)?;
        client.bulk(chunk.bytes(), go_on)?;
        client.end_bulk(go_on)?;
        chunk.commit();
        commands::release(client, &key, go_on)?;
        Ok(())
    }
}

fn check(expected: usize, found: usize) -> Result<(), WireError> {
    if expected == found {
        Ok(())
    } else {
        Err(WireError::Length { expected, found })
    }
}

//! Frames on the control socket.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use burst_protocol::{Timestamp, frame};
use serde_json::Value;

/// The block size in which many frames are sent.
const BLOCK: usize = 64 * 1024;

/// This end of the socket, while no step closes it.
pub struct Control {
    socket: ManuallyDrop<File>,
    /// The number of the run that events refer to, if the runtime numbers them.
    pub run: Value,
}

impl Control {
    pub fn inherited() -> Self {
        // SAFETY: the runtime leaves its socket open as this descriptor; this value never closes it.
        let socket = ManuallyDrop::new(unsafe { File::from_raw_fd(3) });
        let run = Value::Null;
        Self { socket, run }
    }

    /// Sends an event, adding the time if it has none.
    pub fn say(&mut self, event: &Value) -> io::Result<()> {
        let frame = framed(&self.text(event));
        self.socket.write_all(&frame)
    }

    /// Returns a frame's text: an object gets the run and the time; in a string, `RUN` is replaced by the run's number.
    pub fn text(&self, frame: &Value) -> Vec<u8> {
        match frame {
            Value::String(text) => {
                let run = self.run.as_u64().unwrap_or_default().to_string();
                bytes(&text.replace("RUN", &run).into())
            }
            Value::Object(fields) => {
                let mut fields = fields.clone();
                fields
                    .entry("at")
                    .or_insert_with(|| Timestamp::now().as_micros().into());
                if !self.run.is_null() {
                    fields.entry("run").or_insert_with(|| self.run.clone());
                }
                Value::Object(fields).to_string().into_bytes()
            }
            other => other.to_string().into_bytes(),
        }
    }

    /// Sends the same frame many times.
    pub fn repeat(&mut self, frame: &[u8], times: u64) -> io::Result<()> {
        let frame = framed(frame);
        let at_once = (BLOCK / frame.len()).max(1) as u64;
        let block = frame.repeat(at_once.min(times) as usize);
        for _ in 0..times / at_once {
            self.socket.write_all(&block)?;
        }
        for _ in 0..times % at_once {
            self.socket.write_all(&frame)?;
        }
        Ok(())
    }

    /// Sends raw bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Reads the next command; none at the end.
    pub fn read(&mut self) -> io::Result<Option<Value>> {
        let message = frame::read(&mut *self.socket, frame::COMMAND_LIMIT)?;
        Ok(message.map(|it| serde_json::from_slice(&it)).transpose()?)
    }
}

/// The bytes of a text that can encode any bytes: each character below 256 is one.
pub fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap_or_default();
    text.chars().map(|letter| letter as u8).collect()
}

fn framed(text: &[u8]) -> Vec<u8> {
    [&frame::header(text.len()), text].concat()
}

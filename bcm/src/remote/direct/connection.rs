//! The writing end of a connection.

use std::io::{ErrorKind, IoSlice, Write};
use std::net::Shutdown;
use std::time::Duration;

use socket2::Socket;

use super::connection_error::ConnectionError;
use super::socket;
use crate::error::Error;
use crate::remote::Frame;

/// The fewest and most connections per peer: at least two, so that a small message finds one while
/// a chunk of a large one is being written.
pub(super) const CONNECTIONS: (usize, usize) = (2, 4);

/// How often a blocked write checks whether to continue.
const LOOK: Duration = Duration::from_millis(100);

/// Why a frame was not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The caller's time was up.
    GivenUp(Error),
    /// The connection is broken.
    Broken(ConnectionError),
}

impl From<Error> for WriteError {
    fn from(reason: Error) -> Self {
        Self::GivenUp(reason)
    }
}

impl From<ConnectionError> for WriteError {
    fn from(reason: ConnectionError) -> Self {
        match reason {
            ConnectionError::NotStarted => Self::GivenUp(Error::NotStarted),
            reason => Self::Broken(reason),
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: Socket,
}

impl Connection {
    pub(super) fn new(stream: Socket) -> std::io::Result<Self> {
        socket::prepare(&stream)?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self { stream })
    }

    /// Writes header and payload without copying them together. Calls `interrupt` from time to time
    /// while the peer does not read. After an error the connection is unusable.
    pub(super) fn write(
        &mut self,
        frame: &Frame<'_>,
        mut interrupt: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), WriteError> {
        let header = frame.header.encode();
        let mut slices = [IoSlice::new(&header), IoSlice::new(frame.payload)];
        let mut left = &mut slices[..];
        // Empty slices at the front would make a write of nothing look like end of file.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match self.stream.write_vectored(left) {
                Ok(0) => return Err(ConnectionError::HungUp.into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        if let Err(error) = interrupt() {
                            let _ = self.stream.shutdown(Shutdown::Both);
                            return Err(error.into());
                        }
                    }
                    _ => return Err(ConnectionError::from(error).into()),
                },
            }
        }
        Ok(())
    }
}

//! A layer's bytes, however they are packed.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use oci_spec::image::MediaType;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use crate::Error;

/// The tar that a layer is.
pub(crate) fn unpacked<'a>(
    layer: impl Read + 'a,
    kind: &MediaType,
) -> Result<Box<dyn Read + 'a>, Error> {
    let layer = BufReader::new(layer);
    let kind = kind.to_string();
    Ok(match kind.rsplit('.').next() {
        Some("tar") => Box::new(layer),
        Some("tar+gzip" | "gzip") => Box::new(MultiGzDecoder::new(layer)),
        Some("tar+zstd") => Box::new(Frames::of(layer)),
        _ => return Err(Error::image(format!("a layer is of the kind {kind}"))),
    })
}

/// Zstandard's frames, one after the other, of which some are for others to read.
struct Frames<R: BufRead> {
    state: State<R>,
}

enum State<R: BufRead> {
    Between(R),
    Within(Box<StreamingDecoder<R, FrameDecoder>>),
    /// It has failed.
    Lost,
}

impl<R: BufRead> Frames<R> {
    fn of(layer: R) -> Self {
        Self {
            state: State::Between(layer),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Lost) {
                State::Lost => return Err(io::ErrorKind::InvalidData.into()),
                State::Between(mut rest) => {
                    if rest.fill_buf()?.is_empty() {
                        self.state = State::Between(rest);
                        return Ok(0);
                    }
                    self.state = next(rest)?;
                }
                State::Within(mut frame) => match frame.read(buffer)? {
                    0 if !buffer.is_empty() => self.state = State::Between(frame.into_inner()),
                    read => {
                        self.state = State::Within(frame);
                        return Ok(read);
                    }
                },
            }
        }
    }
}

/// What begins here.
fn next<R: BufRead>(mut rest: R) -> io::Result<State<R>> {
    let mut decoder = FrameDecoder::new();
    match decoder.init(&mut rest) {
        Ok(()) => Ok(State::Within(Box::new(StreamingDecoder::new_with_decoder(
            rest, decoder,
        )))),
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length,
            ..
        })) => {
            let length = u64::from(length);
            match io::copy(&mut (&mut rest).take(length), &mut io::sink())? == length {
                true => Ok(State::Between(rest)),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Err(reason) => Err(io::Error::other(reason)),
    }
}

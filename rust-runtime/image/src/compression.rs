//! Decompression of layers.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::{Error, InvalidImage};

/// Returns a reader of a layer's tar, decompressed according to its media type.
pub(crate) fn unpacked<'a>(
    layer: impl BufRead + 'a,
    kind: &str,
) -> Result<Box<dyn Read + 'a>, Error> {
    Ok(match kind.rsplit('.').next() {
        Some("tar") => Box::new(layer),
        Some("tar+gzip" | "gzip") => Box::new(MultiGzDecoder::new(layer)),
        Some("tar+zstd") => Box::new(Frames::of(layer)),
        _ => return Err(InvalidImage::LayerKind(kind.to_owned()).into()),
    })
}

/// Consecutive Zstandard frames; skippable frames, which carry other data, are left out.
struct Frames<R: BufRead> {
    layer: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: BufRead> Frames<R> {
    fn of(layer: R) -> Self {
        Self {
            layer,
            decoder: FrameDecoder::new(),
            within: false,
        }
    }

    /// Begins the next frame. Returns false for a skippable frame, after skipping it.
    fn begin(&mut self) -> io::Result<bool> {
        match self.decoder.init(&mut self.layer) {
            Ok(()) => Ok(true),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                match io::copy(&mut (&mut self.layer).take(length), &mut io::sink())? == length {
                    true => Ok(false),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            Err(reason) => Err(io::Error::other(reason)),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within {
                if self.layer.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.within = self.begin()?;
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            } else if self.decoder.is_finished() {
                self.within = false;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.layer, one);
                decoded.map_err(io::Error::other)?;
            }
        }
    }
}

//! The framing of messages on the control socket: each frame is the length of a message as a little-endian `u32`,
//! followed by the message itself, which is JSON.

use std::io::{self, Read};

/// The bytes of a frame's header, before its message.
pub const HEADER: usize = size_of::<u32>();

/// The largest message from program to runtime: an output and its envelope.
pub const EVENT_LIMIT: usize = crate::OUTPUT_LIMIT + 64 * 1024;

/// The largest message from runtime to program: all inputs of a pack.
pub const COMMAND_LIMIT: usize = 64 * 1024 * 1024;

/// Returns the header for a message of this length, which the limits above keep far below 4 GiB.
pub const fn header(length: usize) -> [u8; HEADER] {
    (length as u32).to_le_bytes()
}

/// Fills in the header of a frame whose message follows the room reserved for it. Does not allocate, as a dying process
/// sends its last event this way.
pub fn seal(frame: &mut [u8]) {
    if let Some((head, message)) = frame.split_first_chunk_mut() {
        *head = header(message.len());
    }
}

/// Waits for the next message and returns it; none at the end of the stream. Reads twice per frame, so `stream` should
/// be buffered.
///
/// # Errors
/// When reading fails, or the message is larger than `limit` or cut short.
pub fn read(stream: &mut impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; HEADER];
    match stream.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(head) as usize;
    if length > limit {
        return Err(io::Error::other(format!(
            "a frame of {length} bytes is too large"
        )));
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message)?;
    Ok(Some(message))
}

/// Returns a decoder that finds frames in a buffer. Frames keep their headers: nothing is consumed until a frame is
/// complete, so the remaining bytes show whether the stream ended within a frame.
#[cfg(feature = "codec")]
pub fn decoder(limit: usize) -> tokio_util::codec::LengthDelimitedCodec {
    tokio_util::codec::LengthDelimitedCodec::builder()
        .little_endian()
        .length_field_type::<u32>()
        .length_adjustment(HEADER as isize)
        .num_skip(0)
        .max_frame_length(limit)
        .new_codec()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sealed_frames_are_read_until_the_end() {
        let mut frame = vec![0; HEADER];
        frame.extend_from_slice(b"{}");
        seal(&mut frame);
        assert_eq!(frame, b"\x02\0\0\0{}");
        frame.extend_from_slice(&header(0));
        let mut stream = frame.as_slice();
        assert_eq!(read(&mut stream, 2).unwrap().unwrap(), b"{}");
        assert_eq!(read(&mut stream, 2).unwrap().unwrap(), b"");
        assert!(read(&mut stream, 2).unwrap().is_none());
    }

    #[test]
    fn a_torn_or_huge_frame_is_an_error() {
        assert!(read(&mut b"\x05\0\0\0{}".as_slice(), 5).is_err());
        assert!(read(&mut b"\x03\0\0\0{ }".as_slice(), 2).is_err());
        assert!(read(&mut b"\xff\xff\xff\xff".as_slice(), COMMAND_LIMIT).is_err());
    }
}

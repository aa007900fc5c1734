//! Memory that a message from another pack is read into.

/// The size in bytes from which the system is asked for large pages: it provides memory when it is
/// first written to, which page by page takes longer than receiving the bytes.
const LARGE: usize = 8 << 20;

/// Bytes with the alignment of the numbers they will become, so that they can become a `Vec`
/// without a copy.
#[derive(Debug)]
pub(crate) enum Buffer {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Buffer {
    /// Returns room for `bytes` bytes; `None` if that is not a whole number of elements of `width` bytes.
    pub(crate) fn zeroed(width: usize, bytes: usize) -> Option<Self> {
        if !bytes.is_multiple_of(width) {
            return None;
        }
        let count = bytes / width;
        let mut buffer = match width {
            2 => Self::Two(vec![0; count]),
            4 => Self::Four(vec![0; count]),
            8 => Self::Eight(vec![0; count]),
            _ => Self::One(vec![0; count]),
        };
        if bytes >= LARGE {
            in_large_pages(buffer.as_bytes_mut());
        }
        Some(buffer)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::One(elements) => elements,
            Self::Two(elements) => bytemuck::cast_slice(elements),
            Self::Four(elements) => bytemuck::cast_slice(elements),
            Self::Eight(elements) => bytemuck::cast_slice(elements),
        }
    }

    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::One(elements) => elements,
            Self::Two(elements) => bytemuck::cast_slice_mut(elements),
            Self::Four(elements) => bytemuck::cast_slice_mut(elements),
            Self::Eight(elements) => bytemuck::cast_slice_mut(elements),
        }
    }
}

fn in_large_pages(bytes: &mut [u8]) {
    let page = rustix::param::page_size();
    let start = bytes.as_mut_ptr();
    let before = start.align_offset(page);
    let length = bytes.len().saturating_sub(before) / page * page;
    if length == 0 {
        return;
    }
    // SAFETY: the pages lie in memory that is borrowed mutably, and the advice does not change
    // what is in it.
    let advised = unsafe {
        rustix::mm::madvise(
            start.add(before).cast(),
            length,
            rustix::mm::Advice::LinuxHugepage,
        )
    };
    // Without large pages it only takes longer.
    let _ = advised;
}

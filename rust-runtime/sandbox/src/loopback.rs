//! The loopback, a pack's only network interface.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Brings the loopback up, with its addresses.
pub(crate) fn up() -> io::Result<()> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: integers and bytes, of which all zeroes are a valid value.
    let mut card: libc::ifreq = unsafe { std::mem::zeroed() };
    card.ifr_name[0] = b'l' as _;
    card.ifr_name[1] = b'o' as _;
    card.ifr_ifru.ifru_flags = libc::IFF_UP as _;
    // SAFETY: reads the structure, whose name is NUL-terminated, and which outlives the call.
    match unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as _, &card) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

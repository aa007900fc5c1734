//! Ports of servers that must be known before they run.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A port of this address on which nobody listens. It is from below those that the system gives to connections
/// and to who asks for any: none of them can have it before its server does, nor while that is down.
pub fn free(host: &str) -> u16 {
    const FIRST: u16 = 18_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let start = now.subsec_nanos() ^ std::process::id().rotate_left(16);
    (0..COUNT)
        .map(|_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            FIRST + ((start.wrapping_add(step)) % u32::from(COUNT)) as u16
        })
        .find(|port| TcpListener::bind((host, *port)).is_ok())
        .expect("a free port")
}

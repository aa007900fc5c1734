//! Limits on answers: how slowly they may arrive, and how much of one is held in memory.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most of an answer that is held at a time. The largest that the API describes is the code of an action: its
/// package may have 64 MiB, and is in base64.
pub const MOST_HELD: u64 = 256 * 1024 * 1024;
/// An answer may arrive this slowly. It has the client's time-out in addition.
pub const LEAST_BYTES_PER_SECOND: u64 = 16 * 1024;
/// One wait counts for at most this part of the time-out: this process may have been stopped meanwhile.
const PARTS: u32 = 4;

/// An answer that is read within limits. Only time spent waiting for the platform counts.
pub struct Bounded<R> {
    answer: R,
    timeout: Duration,
    waited: Duration,
    received: u64,
    held: Held,
    most_held: u64,
}

/// Why an answer is not read on.
#[derive(Debug, thiserror::Error)]
pub enum Excess {
    /// More than this has to be held.
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// The platform was waited for so long.
    #[error("waited for {} s", .0.as_secs())]
    TooSlow(Duration),
}

/// How many bytes have arrived since it was last emptied.
#[derive(Clone, Default)]
pub struct Held(Arc<AtomicU64>);

impl Held {
    /// What has arrived so far has been handed on.
    pub fn empty(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl<R> Bounded<R> {
    /// Every read of `answer` has to end within `timeout`.
    pub fn new(answer: R, timeout: Duration) -> Self {
        Self {
            answer,
            timeout,
            waited: Duration::ZERO,
            received: 0,
            held: Held::default(),
            most_held: MOST_HELD,
        }
    }

    pub fn answer(&self) -> &R {
        &self.answer
    }

    pub fn held(&self) -> Held {
        self.held.clone()
    }

    fn check(&self, held: u64) -> Result<(), Excess> {
        if held > self.most_held {
            return Err(Excess::TooLarge(self.most_held));
        }
        let allowed = self.timeout + Duration::from_secs(self.received / LEAST_BYTES_PER_SECOND);
        if self.waited > allowed {
            return Err(Excess::TooSlow(self.waited));
        }
        Ok(())
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let asked = Instant::now();
        let size = self.answer.read(piece)?;
        if size == 0 {
            return Ok(0);
        }
        self.waited += asked.elapsed().min(self.timeout / PARTS);
        self.received += size as u64;
        let held = self.held.0.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
        self.check(held).map_err(io::Error::other)?;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(most_held: u64, handing_on: bool) -> io::Result<u64> {
        let answer = io::repeat(b'x').take(3000);
        let mut bounded = Bounded {
            most_held,
            ..Bounded::new(answer, Duration::from_secs(30))
        };
        let held = bounded.held();
        let mut piece = [0; 1000];
        let mut all = 0;
        loop {
            match bounded.read(&mut piece)? {
                0 => return Ok(all),
                size => all += size as u64,
            }
            if handing_on {
                held.empty();
            }
        }
    }

    #[test]
    fn no_more_than_the_limit_is_held() {
        assert_eq!(read(3000, false).unwrap(), 3000);
        let refused = read(2999, false).unwrap_err().downcast::<Excess>().unwrap();
        assert!(matches!(refused, Excess::TooLarge(2999)), "{refused}");
    }

    #[test]
    fn what_is_handed_on_is_not_held() {
        assert_eq!(read(1000, true).unwrap(), 3000);
    }
}

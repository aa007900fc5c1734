//! Tags, which keep messages between two workers apart.

use std::fmt;

/// A number that sender and receiver agree on, like MPI's tag: only a receive with the same tag takes the message.
/// Every `u32` is a valid tag; messages sent without one have [`Tag::default`], which is 0.
///
/// ```
/// use burst_bcm::{BackendConfig, Tag, testing};
///
/// const SIZE: Tag = Tag(1);
/// const NAME: Tag = Tag(2);
///
/// let results = testing::run(&[2], &BackendConfig::new("memory"), |worker| {
///     if worker.worker_id() == 0 {
///         worker.send_tagged(7u64, 1, SIZE)?;
///         worker.send_tagged("seven".to_owned(), 1, NAME)?;
///         return Ok(None);
///     }
///     let name: String = worker.recv_tagged(0, NAME)?;
///     Ok(Some((name, worker.recv_tagged::<u64>(0, SIZE)?)))
/// });
/// assert_eq!(results[1], Ok(Some(("seven".to_owned(), 7))));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

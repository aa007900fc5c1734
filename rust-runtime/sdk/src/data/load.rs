//! The collective load: every worker of a pack reads a slice, all share the result.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use burst_bcm::Failure;

use super::buffer::{Buffer, Shared, length};
use super::object::Object;
use super::source;
use super::{DataError, share, shown};
use crate::context::BurstContext;
use crate::error;

/// Loads the object at `location` into memory that all workers of the pack share.
///
/// Collective within the pack: all its workers must call it, in the same order relative to their
/// other loads and for the same location. Each reads an equal slice; it returns when the whole
/// object is there.
///
/// # Errors
/// Any [`DataError`]; when one worker cannot read its slice, all get an error.
pub fn load(burst: &BurstContext, location: &str) -> Result<Shared, DataError> {
    let loads = &burst.local.loads;
    let number = burst.next_load();
    let load = loads.join(number, burst, location)?;
    let index = burst.worker_id() - burst.local.first_worker;
    load.read_slice(burst, index);
    let result = load.wait(burst, loads);
    loads.leave(number, burst.pack_size());
    result
}

/// The loads of one pack that are going on, by their number in program order.
#[derive(Default)]
pub(crate) struct Loads {
    ongoing: Mutex<HashMap<u64, (Arc<Load>, u32)>>,
    aborted: OnceLock<Failure>,
}

impl Loads {
    /// Ends all waiting, now and later.
    pub(crate) fn abort(&self, failure: &Failure) {
        let _ = self.aborted.set(failure.clone());
        for (load, _) in lock(&self.ongoing).values() {
            // Taking the lock orders this after a waiter's last look at `aborted`.
            drop(lock(&load.progress));
            load.changed.notify_all();
        }
    }

    fn join(
        &self,
        number: u64,
        burst: &BurstContext,
        location: &str,
    ) -> Result<Arc<Load>, DataError> {
        let mut ongoing = lock(&self.ongoing);
        if let Some((load, _)) = ongoing.get(&number) {
            if load.location != location {
                let mismatch = DataError::Mismatch {
                    worker: burst.worker_id(),
                    location: shown(location),
                    other: load.opened_by,
                    found: shown(&load.location),
                };
                // This worker's slice will never come: the others must not wait for it.
                load.fail(burst, &mismatch);
                return Err(mismatch);
            }
            return Ok(Arc::clone(load));
        }
        let load = Arc::new(Load::open(burst, location));
        ongoing.insert(number, (Arc::clone(&load), 0));
        Ok(load)
    }

    fn leave(&self, number: u64, workers: u32) {
        let mut ongoing = lock(&self.ongoing);
        if let Some((_, left)) = ongoing.get_mut(&number) {
            *left += 1;
            if *left == workers {
                ongoing.remove(&number);
            }
        }
    }
}

struct Load {
    location: String,
    opened_by: u32,
    /// Empty when opening failed; `progress` has the reason then.
    source: Option<(Box<dyn Object>, Arc<Buffer>)>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    missing: u32,
    failed: Option<(u32, String)>,
}

impl Load {
    fn open(burst: &BurstContext, location: &str) -> Self {
        let opened = source::open(location).and_then(|object| {
            let length = length(location, object.size()?)?;
            Ok((object, Arc::new(Buffer::new(location, length)?)))
        });
        let (source, failed) = match opened {
            Ok(source) => (Some(source), None),
            Err(error) => (None, Some((burst.worker_id(), error.to_string()))),
        };
        Self {
            location: location.to_owned(),
            opened_by: burst.worker_id(),
            source,
            progress: Mutex::new(Progress {
                missing: burst.pack_size(),
                failed,
            }),
            changed: Condvar::new(),
        }
    }

    /// Reads the slice of the worker at `index` in its pack.
    fn read_slice(&self, burst: &BurstContext, index: u32) {
        let mut result = Ok(());
        if let Some((object, buffer)) = &self.source {
            let slice = share(buffer.len() as u64, burst.pack_size(), index);
            // SAFETY: shares of different workers are disjoint and within the buffer, each worker
            // comes here once per load, and `wait` gives out the buffer only after all slices.
            let bytes = unsafe { buffer.part_mut(slice.start as usize..slice.end as usize) };
            result = object.read_at(slice.start, bytes);
        }
        let mut progress = lock(&self.progress);
        progress.missing -= 1;
        if let Err(error) = result {
            progress
                .failed
                .get_or_insert((burst.worker_id(), error.to_string()));
        }
        if progress.missing == 0 || progress.failed.is_some() {
            self.changed.notify_all();
        }
    }

    fn fail(&self, burst: &BurstContext, error: &DataError) {
        let mut progress = lock(&self.progress);
        progress
            .failed
            .get_or_insert((burst.worker_id(), error.to_string()));
        self.changed.notify_all();
    }

    fn wait(&self, burst: &BurstContext, loads: &Loads) -> Result<Shared, DataError> {
        let mut progress = lock(&self.progress);
        let mut waited = false;
        loop {
            if let Some((worker, reason)) = &progress.failed {
                return Err(DataError::Peer {
                    location: shown(&self.location),
                    worker: *worker,
                    reason: reason.clone(),
                });
            }
            if let (0, Some((_, buffer))) = (progress.missing, &self.source) {
                return Ok(Shared::complete(Arc::clone(buffer)));
            }
            let left = burst.remaining();
            let aborted = loads.aborted.get().cloned();
            let stopped = aborted.or_else(|| left.is_zero().then(Failure::overdue));
            if let Some(failure) = stopped {
                let stopped = burst_bcm::Error::Aborted(failure);
                let cause = error::failure_of(&stopped, burst.worker_id(), burst.pack_id());
                burst.load_ended(match waited {
                    true => cause.in_operation("load"),
                    false => cause,
                });
                return Err(DataError::Stopped(stopped));
            }
            waited = true;
            progress = self
                .changed
                .wait_timeout(progress, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use burst_bcm::FailureKind;

    use crate::{Error, testing};

    fn file(size: usize) -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..size).map(|place| (place % 251) as u8).collect();
        std::fs::write(file.path(), bytes).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        (file, path)
    }

    #[test]
    fn all_workers_of_a_pack_share_one_buffer() {
        fn work(path: String, burst: &BurstContext) -> Result<(usize, u64, usize), Error> {
            let first = load(burst, &path)?;
            let second = load(burst, &path)?;
            assert_eq!(&*first, &*second);
            let sum = first.iter().map(|&byte| u64::from(byte)).sum();
            Ok((first.as_ptr() as usize, sum, first.len()))
        }
        for size in [0, 1, 3, 10_000] {
            let (_file, path) = file(size);
            let outputs = testing::run(work, vec![path; 6], 3).unwrap();
            let sum: u64 = (0..size as u64).map(|place| place % 251).sum();
            for output in &outputs {
                assert_eq!((output.1, output.2), (sum, size));
            }
            if size > 0 {
                assert!(outputs[..3].iter().all(|output| output.0 == outputs[0].0));
                assert!(outputs[3..].iter().all(|output| output.0 == outputs[3].0));
            }
        }
    }

    #[test]
    fn a_file_that_is_missing_fails_everyone_with_the_reason() {
        let failed = testing::run(
            |path: String, burst| Ok(load(burst, &path)?.len()),
            vec!["/no/such/file".to_owned(); 3],
            3,
        )
        .unwrap_err();
        assert!(failed.to_string().contains("/no/such/file"), "{failed}");
    }

    #[test]
    fn a_worker_that_fails_before_loading_wakes_those_who_wait() {
        let (_file, path) = file(10);
        let failed = testing::run(
            |path: String, burst| match burst.worker_id() {
                1 => Err(Error::new("not today")),
                _ => Ok(load(burst, &path)?.len()),
            },
            vec![path; 3],
            3,
        )
        .unwrap_err();
        assert_eq!(failed.first.worker, Some(1));
        let peer = failed
            .failures
            .iter()
            .find(|failure| failure.worker == Some(0))
            .unwrap();
        assert_eq!(peer.kind, FailureKind::PeerFailed);
    }

    #[test]
    fn workers_that_load_different_things_are_told() {
        let ((_one, first), (_two, second)) = (file(1), file(2));
        let failed = testing::run(
            |path: String, burst| Ok(load(burst, &path)?.len()),
            vec![first, second],
            2,
        )
        .unwrap_err();
        assert!(failed.to_string().contains("of its pack loads"), "{failed}");
    }
}

//! Loads in progress: every worker of a pack reads a slice, all share the result.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use burst_bcm::Failure;

use super::buffer::{Buffer, Shared, length};
use super::object::Object;
use super::source;
use super::{DataError, Part, share, shown};

/// A worker that takes part in a load.
pub(super) struct Loader {
    pub(super) worker: u32,
    /// Its index in its pack.
    pub(super) index: u32,
    pub(super) pack_size: u32,
    /// Its flare's deadline.
    pub(super) due: Instant,
}

/// The loads in progress of one pack, by their number in program order.
#[derive(Default)]
pub(crate) struct Loads {
    ongoing: Mutex<HashMap<u64, (Arc<Load>, u32)>>,
    aborted: OnceLock<Failure>,
}

impl Loads {
    /// Ends all present and later waits.
    pub(crate) fn abort(&self, failure: &Failure) {
        let _ = self.aborted.set(failure.clone());
        for (load, _) in lock(&self.ongoing).values() {
            // Taking the lock orders this after a waiter's last look at `aborted`.
            drop(lock(&load.progress));
            load.changed.notify_all();
        }
    }

    /// Takes part in the collective load with this number, of which this worker reads its slice. If the load ends
    /// before it is complete, and this worker did not cause that, calls `stopped` with whether this worker had waited
    /// for it.
    pub(super) fn load(
        &self,
        number: u64,
        location: &str,
        loader: &Loader,
        stopped: impl FnOnce(&burst_bcm::Error, bool),
    ) -> Result<Shared, DataError> {
        let load = self.join(number, location, loader)?;
        load.read_slice(loader);
        let result = load.wait(loader, self, stopped);
        self.leave(number, loader.pack_size);
        result
    }

    fn join(&self, number: u64, location: &str, loader: &Loader) -> Result<Arc<Load>, DataError> {
        let mut ongoing = lock(&self.ongoing);
        if let Some((load, _)) = ongoing.get(&number) {
            if load.location != location {
                let mismatch = DataError::Mismatch {
                    worker: loader.worker,
                    location: shown(location),
                    other: load.opened_by,
                    found: shown(&load.location),
                };
                // This worker's slice will never come: the others must not wait for it.
                load.fail(loader, &mismatch);
                return Err(mismatch);
            }
            return Ok(Arc::clone(load));
        }
        let load = Arc::new(Load::open(location, loader));
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
    /// `None` if opening failed; `progress` then has the reason.
    source: Option<(Box<dyn Object>, Arc<Buffer>)>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    missing: u32,
    failed: Option<(u32, String)>,
}

impl Load {
    fn open(location: &str, loader: &Loader) -> Self {
        let opened = source::open(location).and_then(|object| {
            let length = length(location, object.size()?)?;
            Ok((object, Arc::new(Buffer::new(location, length)?)))
        });
        let (source, failed) = match opened {
            Ok(source) => (Some(source), None),
            Err(error) => (None, Some((loader.worker, error.to_string()))),
        };
        Self {
            location: location.to_owned(),
            opened_by: loader.worker,
            source,
            progress: Mutex::new(Progress {
                missing: loader.pack_size,
                failed,
            }),
            changed: Condvar::new(),
        }
    }

    fn read_slice(&self, loader: &Loader) {
        let mut result = Ok(());
        if let Some((object, buffer)) = &self.source {
            let own = Part {
                index: loader.index,
                of: loader.pack_size,
            };
            let slice = share(buffer.len() as u64, own);
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
                .get_or_insert((loader.worker, error.to_string()));
        }
        if progress.missing == 0 || progress.failed.is_some() {
            self.changed.notify_all();
        }
    }

    fn fail(&self, loader: &Loader, error: &DataError) {
        let mut progress = lock(&self.progress);
        progress
            .failed
            .get_or_insert((loader.worker, error.to_string()));
        self.changed.notify_all();
    }

    fn wait(
        &self,
        loader: &Loader,
        loads: &Loads,
        stopped: impl FnOnce(&burst_bcm::Error, bool),
    ) -> Result<Shared, DataError> {
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
            let left = loader.due.saturating_duration_since(Instant::now());
            let aborted = loads.aborted.get().cloned();
            let ended = aborted.or_else(|| left.is_zero().then(Failure::overdue));
            if let Some(failure) = ended {
                let error = burst_bcm::Error::Aborted(failure);
                stopped(&error, waited);
                return Err(DataError::Stopped(error));
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

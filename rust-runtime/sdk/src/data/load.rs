//! The collective load, as a worker calls it.

use super::DataError;
use super::buffer::Shared;
use super::loads::Loader;
use crate::context::BurstContext;
use crate::error;

/// Loads the object at `location` into memory that all workers of the pack share.
///
/// Collective within the pack: all its workers must call it, in the same order relative to their
/// other loads and for the same location. Each reads an equal slice; it returns when the whole
/// object is in memory.
///
/// # Errors
/// Any [`DataError`]; when one worker cannot read its slice, all get an error.
pub fn load(burst: &BurstContext, location: &str) -> Result<Shared, DataError> {
    let loads = &burst.pack_context.loads;
    let number = burst.next_load();
    let loader = Loader {
        worker: burst.worker_id(),
        index: burst.worker_id() - burst.pack_context.first_worker,
        pack_size: burst.pack_size(),
        due: burst.pack_context.due,
    };
    loads.load(number, location, &loader, |stopped, waited| {
        let cause = error::failure_of(stopped, burst.worker_id(), burst.pack_id());
        burst.load_ended(match waited {
            true => cause.in_operation("load"),
            false => cause,
        });
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use burst_bcm::FailureKind;

    use crate::{Error, testing};

    fn file(size: usize) -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
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
            let sum: u64 = (0..size as u64).map(|index| index % 251).sum();
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
    fn a_missing_file_fails_every_worker_with_the_reason() {
        let failed = testing::run(
            |path: String, burst| Ok(load(burst, &path)?.len()),
            vec!["/no/such/file".to_owned(); 3],
            3,
        )
        .unwrap_err();
        assert!(failed.to_string().contains("/no/such/file"), "{failed}");
    }

    #[test]
    fn a_worker_that_fails_before_loading_wakes_waiting_workers() {
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
    fn loading_different_files_is_an_error() {
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

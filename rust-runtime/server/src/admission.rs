//! Keeps the platform's credentials on a backend from the program, which is told those made for
//! its flare, or for the group the flare is of.

use std::sync::{Mutex, PoisonError};

use burst::protocol::{RunPack, time};
use burst_bcm::{Admission, BackendConfig};

use crate::error::Error;

/// What the program was told last.
#[derive(Default)]
pub(crate) struct Admissions {
    last: Mutex<Option<Told>>,
}

/// For all flares of a group, whose packs stay connected as long as it is the same.
struct Told {
    group: String,
    backend: BackendConfig,
}

impl Admissions {
    /// The flare as the program is told of it. Asks the backend's server, and waits for it.
    pub(crate) fn admit(&self, mut run: RunPack) -> Result<RunPack, Error> {
        if run.pack_sizes.len() < 2 || run.backend.uri.is_none() {
            return Ok(run);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let of_group = |told: &&Told| Some(&told.group) == run.group.as_ref();
        let flare = Admission {
            flare_id: &run.flare_id,
            secret: &run.secret,
            deadline: Some(time(run.deadline)),
            group: run.group.as_deref(),
            last: last.as_ref().filter(of_group).map(|told| &told.backend),
        };
        let backend = burst_bcm::admit(&flare, &run.backend)?;
        *last = run.group.clone().map(|group| Told {
            group,
            backend: backend.clone(),
        });
        run.backend = backend;
        Ok(run)
    }
}

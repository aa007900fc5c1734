//! The locations of a flare's objects: all names are predictable.

use object_store::path::Path;

use crate::address::Destination;
use crate::pack_id::PackId;
use crate::wire::Header;

/// The names of a flare's objects.
#[derive(Debug, Clone)]
pub(super) struct Locations {
    root: Path,
}

impl Locations {
    pub(super) fn new(prefix: &Path, flare_id: &str) -> Self {
        Self {
            // Characters that S3 would treat specially are escaped.
            root: prefix.clone().join("burst").join(flare_id),
        }
    }

    /// The prefix of everything a flare stores.
    pub(super) fn root(&self) -> Path {
        self.root.clone()
    }

    /// The object that a pack writes when it joins.
    pub(super) fn joined(&self, pack: PackId) -> Path {
        self.at(["joined".to_owned(), pack.to_string()])
    }

    /// The location at which the platform tests the service, under a name of its own.
    pub(super) fn probe(&self, name: &str) -> Path {
        self.at(["probe".to_owned(), name.to_owned()])
    }

    /// A batch of frames.
    pub(super) fn log(&self, to: PackId, from: PackId, number: u64) -> Path {
        let parts = [to.to_string(), from.to_string(), number.to_string()];
        self.at(["log".to_owned()].into_iter().chain(parts))
    }

    /// A large chunk.
    pub(super) fn data(&self, header: &Header) -> Path {
        let destination = match header.destination {
            Destination::Worker(worker) => worker.to_string(),
            Destination::Pack => "all".to_owned(),
        };
        self.at([
            "data".to_owned(),
            header.source.to_string(),
            destination,
            header.context.to_string(),
            header.sequence.to_string(),
            header.chunk.to_string(),
        ])
    }

    fn at(&self, parts: impl IntoIterator<Item = String>) -> Path {
        parts
            .into_iter()
            .fold(self.root(), |path, part| path.join(part))
    }
}

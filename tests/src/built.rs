//! Where the things under test were built, and what to run when they were not.

use std::path::{Path, PathBuf};

/// Root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file of the distribution, such as `bin/burst`.
#[track_caller]
pub fn dist(file: &str) -> PathBuf {
    let path = repository().join("dist").join(file);
    assert!(
        path.is_file(),
        "{} is missing: run `make build` first",
        path.display()
    );
    path
}

/// A program of `tests/programs/`, as an executable.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    dist(&format!("examples/{name}"))
}

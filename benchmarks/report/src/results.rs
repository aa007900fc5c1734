//! Writes rows of figures to a file.

use std::path::{Path, PathBuf};

/// Why figures could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct WriteError {
    path: PathBuf,
    source: csv::Error,
}

/// Writes rows as CSV.
pub fn write(path: &Path, rows: &[impl serde::Serialize]) -> Result<(), WriteError> {
    let write = || {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut writer = csv::Writer::from_path(path)?;
        rows.iter().try_for_each(|row| writer.serialize(row))?;
        Ok(writer.flush()?)
    };
    write().map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

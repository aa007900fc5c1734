//! A certificate for servers on this machine, and what one has to trust to talk to them.

use std::path::PathBuf;

use tempfile::TempDir;

/// In files, which go with it.
#[derive(Debug)]
pub struct Certificate {
    directory: TempDir,
    /// What has to be trusted.
    pub pem: String,
}

impl Default for Certificate {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// For `localhost`.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let names = vec!["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = Self {
            directory,
            pem: made.cert.pem(),
        };
        std::fs::write(certificate.file(), &certificate.pem).unwrap();
        std::fs::write(certificate.key_file(), made.signing_key.serialize_pem()).unwrap();
        certificate
    }

    /// Where it is.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("certificate.pem")
    }

    /// Where its key is.
    pub fn key_file(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }
}

//! A certificate for servers on this machine, and the PEM that clients must trust.

use std::path::PathBuf;

use tempfile::TempDir;

/// A certificate and its key, in files that are removed when it is dropped.
#[derive(Debug)]
pub struct Certificate {
    directory: TempDir,
    /// The certificate that clients must trust.
    pub pem: String,
}

impl Default for Certificate {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// Creates a certificate for `localhost`.
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

    /// The file of the certificate.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("certificate.pem")
    }

    /// The file of its key.
    pub fn key_file(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }
}

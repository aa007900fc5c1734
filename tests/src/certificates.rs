//! Certificates from test authorities.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};

use crate::{command, wait};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
    name: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Creates a key for the nodes of a cluster to share, owned by the owner of the directory.
#[track_caller]
pub fn cluster_key(directory: &Path) -> PathBuf {
    let made = rcgen::generate_simple_self_signed(Vec::new()).unwrap();
    let file = directory.join("cluster.pem");
    fs::write(&file, made.signing_key.serialize_pem() + &made.cert.pem()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let owner = fs::metadata(directory).unwrap();
    std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
    file
}

/// Files in PEM: an authority's certificate, and a key with a certificate from it.
#[derive(Debug, Clone)]
pub struct Certified {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates an authority that keeps its files in this directory.
    #[track_caller]
    pub fn new(directory: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = subject(name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self {
            directory: directory.to_owned(),
            name: name.to_owned(),
            issuer,
        }
    }

    /// Issues a certificate for this machine, with an elliptic-curve key.
    #[track_caller]
    pub fn certify(&self, name: &str) -> Certified {
        self.certify_key(
            name,
            &KeyPair::generate().unwrap(),
            &["127.0.0.1", "localhost"],
        )
    }

    /// Issues a certificate with an RSA key, as nodes require, for these names in addition to its
    /// subject's.
    #[track_caller]
    pub fn certify_node(&self, name: &str, names: &[&str]) -> Certified {
        let mut openssl = Command::new("openssl");
        openssl.args(["genpkey", "-quiet", "-algorithm", "RSA"]);
        let made = command::run(&mut openssl, wait::SOON);
        let key = KeyPair::from_pem(&made.stdout).unwrap_or_else(|cause| {
            panic!("openssl, of the Debian package openssl, made no key: {cause} {made:?}")
        });
        self.certify_key(name, &key, names)
    }

    #[track_caller]
    fn certify_key(&self, name: &str, key: &KeyPair, names: &[&str]) -> Certified {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = subject(name);
        let certificate = params.signed_by(key, &self.issuer).unwrap();
        let write = |what: &str, pem: String| {
            let file = format!("{}-{name}-{what}.pem", self.name);
            let path = self.directory.join(file);
            fs::write(&path, pem).unwrap();
            path
        };
        Certified {
            authority: write("authority", self.issuer.pem()),
            certificate: write("certificate", certificate.pem()),
            key: write("key", key.serialize_pem()),
        }
    }
}

fn subject(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

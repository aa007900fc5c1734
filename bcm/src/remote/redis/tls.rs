//! TLS connections, which nobody on the way can read.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::invalid::InvalidBackend;

/// A connection, whose handshake happens with the first byte that is written.
pub(super) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// The peer's name, and the trusted authorities.
#[derive(Debug)]
pub(super) struct Tls {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// For a host with a certificate signed by these authorities, given as PEM, or by any that the
    /// machine trusts.
    pub(super) fn to(host: &str, authorities: Option<&str>) -> Result<Self, InvalidBackend> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| InvalidBackend::HostName)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| InvalidBackend::Client { client: "TLS" })?;
        let builder = match authorities {
            Some(pem) => builder.with_root_certificates(trusted(pem)?),
            None => builder
                .with_platform_verifier()
                .map_err(|_| InvalidBackend::MachineCertificates)?,
        };
        Ok(Self {
            name,
            config: Arc::new(builder.with_no_client_auth()),
        })
    }

    pub(super) fn over(&self, stream: TcpStream) -> io::Result<TlsStream> {
        let config = Arc::clone(&self.config);
        let connection =
            ClientConnection::new(config, self.name.clone()).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, stream))
    }
}

fn trusted(pem: &str) -> Result<RootCertStore, InvalidBackend> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        certificate
            .ok()
            .and_then(|certificate| roots.add(certificate).ok())
            .ok_or(InvalidBackend::Authorities)?;
    }
    match roots.is_empty() {
        true => Err(InvalidBackend::NoAuthority),
        false => Ok(roots),
    }
}

//! Making a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::blocking::Client as Http;
use reqwest::{Certificate, Identity, redirect};

use crate::address;
use crate::client::Client;
use crate::error::{Error, root};
use crate::observer::Observer;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Less than the platform keeps a connection without a request (`http.connections.keep-alive`): what is asked on one
/// that it just ends gets no answer, and nobody knows whether it was done.
const IDLE_CONNECTION: Duration = Duration::from_secs(50);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings of a client that is to be made.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    address: String,
    auth: String,
    agent: String,
    timeout: Duration,
    certificates: Option<Vec<u8>>,
    identity: Option<Vec<u8>>,
    trusts_anyone: bool,
    observer: Option<Arc<dyn Observer>>,
}

impl Builder {
    fn new(address: &str, auth: &str) -> Self {
        Self {
            address: address.into(),
            auth: auth.into(),
            agent: concat!("burst-client/", env!("CARGO_PKG_VERSION")).into(),
            timeout: ANSWER_TIMEOUT,
            certificates: None,
            identity: None,
            trusts_anyone: false,
            observer: None,
        }
    }

    /// How long may pass until an answer begins, and between two pieces of it: 30 seconds unless set. A request with
    /// a large body gets more by its size, for its whole answer.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Certificates in PEM form by which alone an https platform is trusted, in place of the system's.
    pub fn certificates(mut self, pem: &[u8]) -> Self {
        self.certificates = Some(pem.to_vec());
        self
    }

    /// A certificate of the caller's own with its key, both in PEM form, which is shown to whoever asks for one: a proxy
    /// before the platform, as the platform itself does not. Only over https.
    pub fn identity(mut self, pem: &[u8]) -> Self {
        self.identity = Some(pem.to_vec());
        self
    }

    /// Trusts an https platform whatever its certificate: who is between reads and changes everything.
    pub fn trusting_anyone(mut self) -> Self {
        self.trusts_anyone = true;
        self
    }

    /// What the client calls itself to the platform.
    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = agent.into();
        self
    }

    /// Who sees what is sent and received.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Makes the client; nothing is sent yet.
    pub fn build(self) -> Result<Client, Error> {
        let (user, key) = self.auth.split_once(':').ok_or(Error::BadCredentials)?;
        let base = address::base_url(&self.address).map_err(|why| Error::BadAddress {
            address: self.address.clone(),
            why,
        })?;
        // Whoever uses this client may have set another one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Http::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_CONNECTION)
            .timeout(self.timeout)
            .redirect(redirect::Policy::none())
            .user_agent(&self.agent);
        if base.scheme() == "http" {
            // Plain HTTP needs no certificates, and reading the system's takes milliseconds.
            http = http.tls_certs_only([]);
        } else if self.trusts_anyone {
            http = http.tls_danger_accept_invalid_certs(true);
        } else if let Some(pem) = &self.certificates {
            let certificates = Certificate::from_pem_bundle(pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(Error::NoCertificate);
            }
            http = http.tls_certs_only(certificates);
        }
        if let Some(pem) = self.identity.as_ref().filter(|_| base.scheme() == "https") {
            http = http.identity(Identity::from_pem(pem).map_err(|_| Error::NoIdentity)?);
        }
        if address::is_loopback(&base) {
            // No proxy can reach this machine's own platform.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|cause| Error::NoHttp(root(&cause)))?;
        Ok(Client {
            http,
            base,
            user: user.into(),
            key: key.into(),
            timeout: self.timeout,
            observer: self.observer,
        })
    }
}

impl Client {
    /// A caller of the platform at this address (`host`, `host:port`, or an http or https URL) with these credentials
    /// (`uuid:key`, or the administrator's `admin:key`). Nothing is sent yet.
    pub fn new(address: &str, auth: &str) -> Result<Self, Error> {
        Self::builder(address, auth).build()
    }

    /// The same with settings.
    pub fn builder(address: &str, auth: &str) -> Builder {
        Builder::new(address, auth)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Builder({})", self.address)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::IDLE_CONNECTION;

    #[test]
    fn a_connection_is_left_before_the_platform_ends_it() {
        let settings = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../controller/src/main/resources/reference.conf"
        );
        let settings = std::fs::read_to_string(settings).unwrap();
        let kept = settings
            .lines()
            .find_map(|line| line.trim().strip_prefix("keep-alive = "));
        let kept: u64 = kept.unwrap().trim_end_matches('s').parse().unwrap();
        assert!(IDLE_CONNECTION.as_secs() + 10 < kept, "{kept} s");
    }
}

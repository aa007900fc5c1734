//! Builds clients.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::blocking::Client as Http;
use reqwest::{Certificate, Identity, redirect};

use crate::address;
use crate::causes::SetupError;
use crate::client::Client;
use crate::error::Error;
use crate::observer::Observer;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection without a request is kept: less than the platform keeps one (`http.connections.keep-alive`). A
/// request on a connection that the platform is closing gets no answer, and nobody knows whether it was carried out.
const IDLE_CONNECTION: Duration = Duration::from_secs(50);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The namespace that the credentials open.
const OWN_NAMESPACE: &str = "_";

/// Settings of a client to build.
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

    /// Sets how long an answer can take to begin, and how long a gap in it can be: 30 seconds by default. A request
    /// with a large body gets more time, in proportion to its size, for its whole answer.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the only certificates, in PEM form, by which an https platform is trusted, instead of the system's.
    pub fn certificates(mut self, pem: &[u8]) -> Self {
        self.certificates = Some(pem.to_vec());
        self
    }

    /// Sets the caller's own certificate with its key, both in PEM form, for a proxy before the platform that asks for
    /// one; the platform itself does not. Used only over https.
    pub fn identity(mut self, pem: &[u8]) -> Self {
        self.identity = Some(pem.to_vec());
        self
    }

    /// Trusts an https platform whatever its certificate: anyone in between can read and change everything.
    pub fn trusting_anyone(mut self) -> Self {
        self.trusts_anyone = true;
        self
    }

    /// Sets the user agent that the client sends to the platform.
    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = agent.into();
        self
    }

    /// Sets the observer of what is sent and received.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Makes the client; sends nothing yet.
    pub fn build(self) -> Result<Client, Error> {
        let (user, key) = self.auth.split_once(':').ok_or(Error::BadCredentials)?;
        let base = address::base_url(&self.address).map_err(|why| Error::BadAddress {
            address: self.address.clone(),
            why,
        })?;
        // The program that uses this client may have installed another provider, which then stays.
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
        let http = http.build().map_err(SetupError::NoClient)?;
        Ok(Client {
            http,
            base,
            user: user.into(),
            key: key.into(),
            namespace: OWN_NAMESPACE.into(),
            timeout: self.timeout,
            observer: self.observer,
        })
    }
}

impl Client {
    /// Makes a client of the platform at this address (`host`, `host:port`, or an http or https URL) with these
    /// credentials (`uuid:key`, or the administrator's `admin:key`). Sends nothing yet.
    pub fn new(address: &str, auth: &str) -> Result<Self, Error> {
        Self::builder(address, auth).build()
    }

    /// Returns a builder for a client with other settings.
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
    fn idle_connections_are_closed_before_the_platform_closes_them() {
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

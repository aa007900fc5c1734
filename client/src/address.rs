//! Addresses of platforms, as users write them.

use std::net::IpAddr;

use reqwest::Url;

/// The port of a platform that runs on one machine.
const DEFAULT_PORT: u16 = 3233;

/// Why a text is not a platform's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is malformed.
    #[error("{0}")]
    Malformed(String),
    /// It is not an http or https URL with a host.
    #[error("expected host, host:port, or an http or https URL")]
    NotHttp,
    /// It contains credentials, which must be given separately.
    #[error("it must not contain credentials")]
    HasCredentials,
}

/// Returns the base URL of the API, from a host, a host with a port, or a URL.
pub(crate) fn base_url(host: &str) -> Result<Url, AddressError> {
    let has_scheme = host.contains("://");
    let text = if has_scheme {
        host.to_owned()
    } else {
        format!("http://{host}")
    };
    let mut url = Url::parse(&text).map_err(|cause| AddressError::Malformed(cause.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(AddressError::NotHttp);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::HasCredentials);
    }
    let names_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    if !has_scheme && !host.rsplit_once(':').is_some_and(names_port) {
        url.set_port(Some(DEFAULT_PORT))
            .map_err(|()| AddressError::Malformed("it takes no port".into()))?;
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// Whether the URL's host is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse()
                .is_ok_and(|ip: IpAddr| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_may_be_a_host_a_host_and_port_or_a_url() {
        for (host, url) in [
            ("example.org", "http://example.org:3233/"),
            ("127.0.0.1:80", "http://127.0.0.1/"),
            ("localhost:9", "http://localhost:9/"),
            ("[::1]", "http://[::1]:3233/"),
            ("https://example.org", "https://example.org/"),
            ("https://example.org/burst/", "https://example.org/burst/"),
        ] {
            assert_eq!(base_url(host).unwrap().as_str(), url);
        }
        for host in ["ftp://a", "u:p@a", "http://", "a b"] {
            assert!(base_url(host).is_err(), "{host}");
        }
    }

    #[test]
    fn loopback_is_recognised() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("example.org", false),
        ] {
            assert_eq!(is_loopback(&base_url(host).unwrap()), expected, "{host}");
        }
    }
}

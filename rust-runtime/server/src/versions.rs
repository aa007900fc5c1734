//! The version of the protocol that invoker and runtime agree on.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use burst_protocol::{InvalidVersions, RUNTIME, VERSION_HEADER, VERSIONS_HEADER, Versions};

use crate::error::Error;
use crate::invalid_request::InvalidRequest;

/// Rejects an invoker that has no version in common with this runtime, and sends others the chosen
/// version.
pub(crate) async fn check(request: Request<Body>, next: Next) -> Response {
    let version = match taken(request.headers()) {
        Ok(version) => version,
        Err(refused) => return refused.into_response(),
    };
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(VERSION_HEADER, HeaderValue::from(version));
    response
}

fn taken(headers: &HeaderMap) -> Result<u32, Error> {
    let spoken = match headers.get(VERSIONS_HEADER).map(HeaderValue::to_str) {
        None => Versions::only(1),
        Some(text) => {
            let text = text.map_err(|_| InvalidVersions);
            let versions: Result<Versions, _> = text.and_then(str::parse);
            versions.map_err(InvalidRequest::Versions)?
        }
    };
    RUNTIME
        .common(spoken)
        .ok_or(Error::OtherVersion { invoker: spoken })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn said(versions: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(
            VERSIONS_HEADER.parse().unwrap(),
            HeaderValue::from_static(versions),
        )])
    }

    #[test]
    fn without_a_header_the_first_version_is_used() {
        assert_eq!(taken(&HeaderMap::new()).unwrap(), 1);
        assert_eq!(taken(&said("1-7")).unwrap(), 1);
    }

    #[test]
    fn a_refusal_names_the_side_to_upgrade() {
        let told = |versions| taken(&said(versions)).unwrap_err().to_string();
        assert_eq!(
            told("2-7"),
            "this runtime speaks version 1 of the protocol between invoker and runtime, the invoker versions 2 to 7: \
             use a runtime of the invoker's release"
        );
        assert!(told("0").contains("upgrade the invoker"), "{}", told("0"));
        assert!(told("all").contains("1-3"), "{}", told("all"));
    }
}

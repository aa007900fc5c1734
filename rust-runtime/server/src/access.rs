//! Authentication of requests to the runtime by its token.
//!
//! Containers of other tenants can reach its port, and so can the program it supervises.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::body::TimeoutBody;
use crate::connections::Connection;
use crate::error::Error;
use crate::limits;

/// The environment variable that holds the token.
const VARIABLE: &str = "BURST_RUNTIME_TOKEN";

/// What a caller must present.
#[derive(Clone)]
pub enum Access {
    /// Nothing, for a runtime that only its owner can reach.
    Open,
    /// `Authorization: Bearer` and this token.
    Token(String),
}

impl Access {
    /// Reads the token from the environment; open if there is none.
    #[must_use]
    pub fn from_environment() -> Self {
        match std::env::var(VARIABLE) {
            Ok(token) if !token.is_empty() => Self::Token(token),
            _ => Self::Open,
        }
    }

    fn allows(&self, request: &Request) -> bool {
        let Self::Token(token) = self else {
            return true;
        };
        let shown = request.headers().get(header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        shown.is_some_and(|shown| shown.ct_eq(token.as_bytes()).into())
    }
}

/// Rejects a request without the token before its body is read, and closes the connection.
pub(crate) async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    if !access.allows(&request) {
        return ([(header::CONNECTION, "close")], Error::NotAllowed).into_response();
    }
    if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
        connection.trust();
    }
    let request = request.map(|body| Body::new(TimeoutBody::new(body, limits::STALL)));
    next.run(request).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_token_opens() {
        let request = |value: &str| {
            Request::builder()
                .header(header::AUTHORIZATION, value)
                .body(Body::empty())
                .unwrap()
        };
        let access = Access::Token("secret".to_owned());
        assert!(access.allows(&request("Bearer secret")));
        for wrong in [
            "Bearer secre",
            "Bearer secrets",
            "Bearer ",
            "Basic secret",
            "secret",
        ] {
            assert!(!access.allows(&request(wrong)), "{wrong}");
        }
        assert!(!access.allows(&Request::new(Body::empty())));
        assert!(Access::Open.allows(&Request::new(Body::empty())));
    }
}

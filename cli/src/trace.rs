//! What `-v` shows: requests and answers, without credentials.

use std::io::{self, Write};

use burst_client::Observer;
use burst_client::reqwest::StatusCode;
use burst_client::reqwest::blocking::Request;
use burst_client::reqwest::header::HeaderMap;

use crate::visible;

/// Longer bodies are packages or large inputs, which no one reads on a terminal.
const LONGEST_BODY: usize = 4096;

/// Members of bodies with secrets: those of a deploy, the key for a feed or a gateway, a new namespace's key, and what
/// callers of a web action have to send.
const SECRETS: [&[u8]; 5] = [
    b"\"secrets\"",
    b"\"authKey\"",
    b"\"authkey\"",
    b"\"auth\"",
    b"\"require-whisk-auth\"",
];

/// Shows requests and answers on standard error.
pub struct Trace;

impl Observer for Trace {
    fn sent(&self, request: &Request) {
        let body = request
            .body()
            .and_then(|body| body.as_bytes())
            .unwrap_or_default();
        let first = format!("{} {}", request.method(), request.url());
        show('>', &first, request.headers(), body);
    }

    fn received(&self, status: StatusCode, headers: &HeaderMap, text: &str) {
        show('<', &status.to_string(), headers, text.as_bytes());
    }
}

fn show(mark: char, first: &str, headers: &HeaderMap, body: &[u8]) {
    // A user who asked for a trace and closed standard error gets none.
    let _ = io::stderr().write_all(visible::lines(&render(mark, first, headers, body)).as_bytes());
}

fn render(mark: char, first: &str, headers: &HeaderMap, body: &[u8]) -> String {
    let mut text = format!("{mark} {first}\n");
    for (name, value) in headers {
        let value = if value.is_sensitive() {
            "<redacted>".into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        text += &format!("{mark} {name}: {value}\n");
    }
    let has = |member: &&[u8]| body.windows(member.len()).any(|part| part == *member);
    if body.len() > LONGEST_BODY || SECRETS.iter().any(has) {
        text += &format!("{mark} <{} bytes>\n", body.len());
    } else if !body.is_empty() {
        text += &format!("{mark} {}\n", String::from_utf8_lossy(body));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use burst_client::reqwest::header::{AUTHORIZATION, HeaderValue};

    #[test]
    fn credentials_and_long_bodies_are_left_out() {
        let mut headers = HeaderMap::new();
        let mut secret = HeaderValue::from_static("Basic c2VjcmV0");
        secret.set_sensitive(true);
        headers.insert(AUTHORIZATION, secret);
        let text = render('>', "PUT http://a/", &headers, &[b'x'; 5000]);
        assert_eq!(
            text,
            "> PUT http://a/\n> authorization: <redacted>\n> <5000 bytes>\n"
        );
        let body = br#"{"exec":{},"secrets":{"TOKEN":"hunter2"}}"#;
        let text = render('>', "PUT http://a/", &HeaderMap::new(), body);
        assert_eq!(text, "> PUT http://a/\n> <41 bytes>\n");
        for body in [
            r#"{"authKey":"uuid:key","lifecycleEvent":"CREATE"}"#,
            r#"{"apidoc":{"action":{"authkey":"uuid:key"}}}"#,
            r#"{"namespace":"team","auth" : "uuid:key"}"#,
            r#"{"annotations":[{"key":"require-whisk-auth","value":"uuid:key"}]}"#,
        ] {
            let text = render('>', "PUT http://a/", &HeaderMap::new(), body.as_bytes());
            assert!(!text.contains("uuid:key"), "{text}");
        }
    }
}

//! Which calls are repeated when their connection breaks, and by which key the platform recognizes
//! them.

use std::io::ErrorKind;

use burst_client::{Error, FlareRequest, InvokeQuery, Invoked, Waited};
use serde_json::json;

use crate::platform::{Platform, answer};

const ACCEPTED: &str = r#"{"flareId":"f"}"#;
/// Neither a status nor a body.
const NOTHING: &str = "";
const CUT: &str = "HTTP/1.1 202 Accepted\r\nContent-Length: 99\r\n\r\n{\"flareId\":";

fn texts(broken: &[&str], last: &str) -> Vec<String> {
    let broken = broken.iter().map(|text| (*text).to_owned());
    broken.chain([answer("202 Accepted", last)]).collect()
}

fn key(request: &str) -> &str {
    let header = "\r\nidempotency-key: ";
    let lower = request.to_lowercase();
    let start = lower.find(header).unwrap_or_else(|| panic!("{request}")) + header.len();
    request[start..].lines().next().unwrap()
}

/// Checks that they are one request, sent several times.
fn assert_same_requests(requests: &[String]) {
    let first = &requests[0];
    let (quoted, digits) = (key(first), key(first).trim_matches('"'));
    assert_eq!(quoted, format!("\"{digits}\""));
    assert!(digits.len() == 32 && digits.bytes().all(|c| c.is_ascii_hexdigit()));
    for request in requests {
        assert_eq!(request, first);
    }
}

#[test]
fn a_flare_is_retried_with_the_same_key_until_it_is_answered() {
    let platform = Platform::sending(&texts(&[NOTHING, CUT], ACCEPTED));
    let accepted = platform.client().flare("x", &FlareRequest::default());
    assert_eq!(accepted.unwrap().read().unwrap().flare_id, "f");
    assert_same_requests(&platform.all_asked());
}

#[test]
fn blocking_flares_groups_and_action_calls_are_retried_with_the_same_key() {
    let platform = Platform::sending(&texts(&[CUT], ACCEPTED));
    let waited = platform
        .client()
        .flare_and_wait("x", &FlareRequest::default());
    assert!(matches!(waited, Ok(Waited::Accepted(_))), "{waited:?}");
    assert_same_requests(&platform.all_asked());

    let platform = Platform::sending(&texts(&[NOTHING], r#"{"groupId":"g"}"#));
    let group = json!({"definition": "x", "size": 1});
    let opened = platform.client().open_group(&group).unwrap();
    assert_eq!(opened.read().unwrap().group_id, "g");
    assert_same_requests(&platform.all_asked());

    let platform = Platform::sending(&texts(&[NOTHING], ACCEPTED));
    let accepted = platform
        .client()
        .flare_on_group("g", &FlareRequest::default());
    assert_eq!(accepted.unwrap().read().unwrap().flare_id, "f");
    assert_same_requests(&platform.all_asked());

    let platform = Platform::sending(&texts(&[NOTHING], "{}"));
    let invoked = platform
        .client()
        .invoke("x", &InvokeQuery::default(), &json!({}));
    assert!(matches!(invoked, Ok(Invoked::Accepted(_))), "{invoked:?}");
    assert_same_requests(&platform.all_asked());
}

#[test]
fn each_call_has_its_own_key() {
    let answers = [
        answer("202 Accepted", ACCEPTED),
        answer("202 Accepted", ACCEPTED),
    ];
    let platform = Platform::sending(&answers);
    let client = platform.client();
    for _ in 0..2 {
        client.flare("x", &FlareRequest::default()).unwrap();
    }
    let asked = platform.all_asked();
    assert_ne!(key(&asked[0]), key(&asked[1]));
}

#[test]
fn retries_are_limited() {
    let broken = [NOTHING; 5].map(str::to_owned);
    let platform = Platform::sending(&broken);
    let error = platform
        .client()
        .flare("x", &FlareRequest::default())
        .unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    assert!(error.is_transient());
    assert_same_requests(&platform.all_asked());
}

#[test]
fn refusals_and_reads_are_not_retried() {
    let reason = r#"{"error":"Say which.","code":"t1"}"#;
    let platform = Platform::answering("400 Bad Request", reason);
    let refused = platform.client().flare("x", &FlareRequest::default());
    assert_eq!(refused.unwrap_err().status(), Some(400));
    platform.asked();

    let platform = Platform::sending(&[NOTHING.into()]);
    let error = platform.client().get_flare("f").unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    assert!(!platform.asked().to_lowercase().contains("idempotency-key"));
}

#[test]
fn a_refused_connection_is_not_retried() {
    // The system never assigns this port to a program that asks for any.
    let client = burst_client::Client::new("127.0.0.1:1", "me:key").unwrap();
    // With repeats, every try would take longer; without them, a single try may on a busy machine.
    let is_quick = (0..5).any(|_| {
        let begun = std::time::Instant::now();
        let error = client.flare("x", &FlareRequest::default()).unwrap_err();
        let Error::Unreachable { cause, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(cause.kind(), Some(ErrorKind::ConnectionRefused));
        begun.elapsed() < std::time::Duration::from_secs(7)
    });
    assert!(is_quick);
}

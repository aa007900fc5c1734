//! How a client handles answers.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use burst_client::{
    AnswerError, Client, Error, FlareRequest, FlareState, InvokeQuery, Invoked,
    ListActivationsQuery, ListFlaresQuery, RequestError, RuleStatus, RuleStatusRequest, Waited,
};
use serde_json::json;

use crate::platform::{Platform, answer, read};

const RESULT: &str = r#"{"flareId":"f","state":"failed","error":{"kind":"error","message":"no"},
    "outputs":[{"worker":0,"output":12345678901234567890123},{"worker":1}],"mood":"good"}"#;

#[test]
fn a_call_sends_the_documented_request() {
    let platform = Platform::answering("200 OK", "[]");
    let query = ListFlaresQuery {
        limit: Some(5),
        state: Some(FlareState::TimedOut),
        ..ListFlaresQuery::default()
    };
    let flares = platform.client().list_flares(&query).unwrap();
    assert_eq!(flares.text(), "[]");
    assert!(flares.read().unwrap().is_empty());
    let asked = platform.asked();
    let line = "GET /api/v1/namespaces/_/flares?limit=5&state=timed-out HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    // me:key
    assert!(
        asked.contains("authorization: Basic bWU6a2V5\r\n"),
        "{asked}"
    );
}

#[test]
fn a_client_can_use_another_namespace() {
    let platform = Platform::sending(&[answer("200 OK", "{}"), answer("200 OK", "{}")]);
    let client = platform.client();
    let other = client.in_namespace("guest");
    let query = InvokeQuery {
        blocking: Some(true),
        ..InvokeQuery::default()
    };
    other
        .invoke_of_package("tools", "hello", &query, &json!({}))
        .unwrap();
    client.get_trigger("t").unwrap();
    let asked = platform.all_asked();
    for (asked, line) in asked.iter().zip([
        "POST /api/v1/namespaces/guest/actions/tools/hello?blocking=true ",
        "GET /api/v1/namespaces/_/triggers/t ",
    ]) {
        assert!(asked.starts_with(line), "{asked}");
    }
}

#[test]
fn a_request_has_only_the_given_fields() {
    let platform = Platform::answering("202 Accepted", r#"{"flareId":"f"}"#);
    let request = FlareRequest {
        size: Some(8),
        chunk_size: Some(4096),
        ..FlareRequest::default()
    };
    let accepted = platform.client().flare("a b/c", &request).unwrap();
    assert_eq!(accepted.read().unwrap().flare_id, "f");
    let asked = platform.asked();
    let line = "POST /api/v1/namespaces/_/bursts/a%20b%2Fc HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.ends_with(r#"{"size":8,"chunkSize":4096}"#), "{asked}");
}

#[test]
fn empty_responses_are_accepted_where_documented() {
    let fire = |status, body| {
        let platform = Platform::answering(status, body);
        let fired = platform.client().fire("t", &json!({"x": 1})).unwrap();
        let asked = platform.asked();
        assert!(
            asked.starts_with("POST /api/v1/namespaces/_/triggers/t "),
            "{asked}"
        );
        assert!(asked.ends_with(r#"{"x":1}"#), "{asked}");
        fired.map(|fired| fired.read().unwrap().activation_id)
    };
    let fired = fire("202 Accepted", r#"{"activationId":"a"}"#);
    assert_eq!(fired.as_deref(), Some("a"));
    assert_eq!(fire("204 No Content", ""), None);
    let platform = Platform::answering("200 OK", "");
    let status = RuleStatus::Inactive;
    let client = platform.client();
    client
        .set_rule_status("r", &RuleStatusRequest { status })
        .unwrap();
    let asked = platform.asked();
    assert!(asked.ends_with(r#"{"status":"inactive"}"#), "{asked}");
}

#[test]
fn waiting_returns_the_result_or_the_accepted_flare() {
    let wait = |status, body| {
        let platform = Platform::answering(status, body);
        let waited = platform
            .client()
            .flare_and_wait("x", &FlareRequest::default());
        let asked = platform.asked();
        assert!(asked.contains("/x?blocking=true&result=true "), "{asked}");
        waited
    };
    for status in ["200 OK", "502 Bad Gateway"] {
        let Waited::Ended(answer) = wait(status, RESULT).unwrap() else {
            panic!("it has ended");
        };
        assert_eq!(answer.read().unwrap().state, FlareState::Failed);
    }
    let accepted = wait("202 Accepted", r#"{"flareId":"f"}"#).unwrap();
    assert!(matches!(accepted, Waited::Accepted(_)), "{accepted:?}");
    let refused = |error: Error| (error.status(), error.to_string());
    let proxy = wait("502 Bad Gateway", "<html>").unwrap_err();
    let sentence = "the platform answered 502 and no reason".into();
    assert_eq!(refused(proxy), (Some(502), sentence));
    let reason = r#"{"error":"Say which.","code":"t1"}"#;
    let platform = wait("400 Bad Request", reason).unwrap_err();
    assert_eq!(refused(platform), (Some(400), "Say which. [t1]".into()));
}

#[test]
fn outputs_are_streamed_one_by_one() {
    let platform = Platform::answering("200 OK", RESULT);
    let mut outputs = Vec::new();
    let body = platform.client().get_result("f").unwrap();
    let rest = body.each(|output| {
        outputs.push(output.output.map(|output| output.get().to_owned()));
        Ok::<(), Error>(())
    });
    assert_eq!(outputs, [Some("12345678901234567890123".into()), None]);
    let rest = rest.unwrap();
    assert_eq!(rest.state, FlareState::Failed);
    assert!(rest.outputs.is_empty());
    assert_eq!(rest.error.unwrap().message, "no");
}

#[test]
fn a_reader_can_stop_with_its_own_error() {
    #[derive(Debug)]
    enum Stopped {
        Enough,
        Platform,
    }
    impl From<Error> for Stopped {
        fn from(_: Error) -> Self {
            Self::Platform
        }
    }
    let platform = Platform::answering("200 OK", RESULT);
    let body = platform.client().get_result("f").unwrap();
    let stopped = body.each(|_| Err(Stopped::Enough)).unwrap_err();
    assert!(matches!(stopped, Stopped::Enough), "{stopped:?}");
}

#[test]
fn a_truncated_response_is_distinguished_from_an_invalid_one() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n{\"logs\":[";
    let platform = Platform::sending(&[cut.into()]);
    let body = platform.client().get_result("f").unwrap();
    let error = body.each(|_| Ok::<(), Error>(())).unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    let platform = Platform::answering("200 OK", r#"{"flareId":7}"#);
    let error = platform
        .client()
        .get_flare("f")
        .unwrap()
        .read()
        .unwrap_err();
    let wrong = matches!(error, Error::BadAnswer(AnswerError::NotAsPromised(_)));
    assert!(wrong, "{error:?}");
}

#[test]
fn requests_without_a_response_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let timeout = Duration::from_millis(50);
    let client = Client::builder(&address, "me:key").timeout(timeout);
    let error = client.build().unwrap().get_flare("f").unwrap_err();
    assert!(error.is_transient());
    let Error::NoAnswer {
        host,
        timeout: after,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((host, after), (format!("http://{address}"), timeout));
}

#[test]
fn a_response_that_is_still_arriving_does_not_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Together they take longer than the time-out, each much less.
    let (timeout, pause, pieces) = (Duration::from_secs(10), Duration::from_secs(2), 6);
    let piece = " ".repeat(64 * 1024);
    let platform = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        read(&connection);
        let length = RESULT.len() + pieces * piece.len();
        write!(
            connection,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
        )
        .unwrap();
        for _ in 0..pieces {
            thread::sleep(pause);
            connection.write_all(piece.as_bytes()).unwrap();
        }
        connection.write_all(RESULT.as_bytes()).unwrap();
    });
    let client = Client::builder(&address, "me:key").timeout(timeout);
    let client = client.build().unwrap();
    let waited = client.flare_and_wait("hello", &FlareRequest::default());
    assert!(matches!(waited, Ok(Waited::Ended(_))), "{waited:?}");
    platform.join().unwrap();
}

#[test]
fn a_response_that_arrives_too_slowly_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let platform = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        read(&connection);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        connection.write_all(head).unwrap();
        // Until the client has given up.
        while connection.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let client = Client::builder(&address, "me:key").timeout(Duration::from_secs(1));
    let error = client.build().unwrap().get_flare("f").unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    platform.join().unwrap();
}

#[test]
fn a_failed_action_is_distinguished_from_a_platform_failure() {
    let invoke = |status, body| {
        let platform = Platform::answering(status, body);
        let client = platform.client();
        client.invoke("hello", &InvokeQuery::default(), &json!({}))
    };
    let outcome = invoke("200 OK", "[1.50]").unwrap();
    let Invoked::Succeeded(answer) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(answer.text(), "[1.50]");
    let outcome = invoke("502 Bad Gateway", r#"{"error":"its own"}"#).unwrap();
    let Invoked::Failed { status, answer } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((status, answer.text()), (502, r#"{"error":"its own"}"#));
    let failure = answer.cast::<BTreeMap<String, String>>().read().unwrap();
    assert_eq!(failure["error"], "its own");
    for (status, body) in [
        ("502 Bad Gateway", "<html>"),
        ("500 Internal Server Error", r#"{"error":"no","code":"t1"}"#),
        ("404 Not Found", r#"{"error":"no","code":"t1"}"#),
    ] {
        let refused = invoke(status, body).unwrap_err();
        assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
    }
}

#[test]
fn invalid_requests_are_not_sent() {
    let client = Client::new("127.0.0.1:1", "me:key").unwrap();
    for name in ["", ".", ".."] {
        let error = client.get_definition(name).unwrap_err();
        let Error::BadRequest(RequestError::NotAName(odd)) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(odd, name);
    }
    let error = Client::new("127.0.0.1:1", "me").unwrap_err();
    assert!(matches!(error, Error::BadCredentials), "{error:?}");
    let error = Client::new("http://me:key@h", "me:key").unwrap_err();
    assert!(matches!(error, Error::BadAddress { .. }), "{error:?}");
}

#[test]
fn list_or_count_responses_are_returned_unparsed() {
    let platform = Platform::answering("200 OK", r#"{"activations":3}"#);
    let query = ListActivationsQuery {
        count: Some(true),
        ..ListActivationsQuery::default()
    };
    let counted = platform.client().list_activations(&query).unwrap();
    assert_eq!(counted.read().unwrap().get(), r#"{"activations":3}"#);
}

//! Bad input gets a clear refusal and changes nothing (issue 2, point 5).

use std::fs;

use burst_client::Error;
use burst_tests::unchanged::changing_nothing;
use burst_tests::{Answer, Driver, Loan, Platform, Settings, failing, refused, wire};
use reqwest::Method;
use serde_json::json;

const MIB: u64 = 1 << 20;

fn platform() -> Loan {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    platform
}

fn raw_body(platform: &Platform, method: Method, path: &str, kind: &str, body: &str) -> Answer {
    let api = platform.api();
    let request = api.request(method, &format!("namespaces/_/{path}"));
    api.send(request.header("Content-Type", kind).body(body.to_owned()))
}

#[test]
fn invalid_flare_requests_are_refused() {
    let platform = platform();
    let client = platform.api().client();
    let ok = failing::succeed();
    let cases = [
        ("size 0", json!({"size": 0, "params": ok}), "size"),
        ("negative size", json!({"size": -1, "params": ok}), "size"),
        (
            "huge size",
            json!({"size": 2_000_000_000, "params": ok}),
            "size",
        ),
        (
            "size beyond any integer",
            json!({"size": 1e30, "params": ok}),
            "size",
        ),
        (
            "fractional size",
            json!({"size": 1.5, "params": ok}),
            "size",
        ),
        (
            "size is a string",
            json!({"size": "many", "params": ok}),
            "size",
        ),
        ("neither size nor array", json!({"params": ok}), "size"),
        ("no params for anyone", json!({"params": []}), "params"),
        (
            "params and size differ",
            json!({"size": 3, "params": [ok, ok]}),
            "size",
        ),
        (
            "unknown field",
            json!({"size": 2, "params": ok, "granulrity": 2}),
            "granulrity",
        ),
        (
            "granularity 0",
            json!({"size": 2, "params": ok, "granularity": 0}),
            "granularity",
        ),
        (
            "granularity is text",
            json!({"size": 2, "params": ok, "granularity": "2"}),
            "granularity",
        ),
        (
            "unknown packing",
            json!({"size": 2, "params": ok, "packing": "tight"}),
            "packing",
        ),
        (
            "unknown backend",
            json!({"size": 2, "params": ok, "backend": "pigeons"}),
            "backend",
        ),
        (
            "chunk size 0",
            json!({"size": 2, "params": ok, "chunkSize": 0}),
            "chunkSize",
        ),
        (
            "time-out 0",
            json!({"size": 2, "params": ok, "timeout": 0}),
            "timeout",
        ),
        (
            "endless time-out",
            json!({"size": 2, "params": ok, "timeout": i64::MAX}),
            "timeout",
        ),
        (
            "memory 0",
            json!({"size": 2, "params": ok, "memory": 0}),
            "memory",
        ),
        (
            "more memory than there is",
            json!({"size": 2, "params": ok, "memory": 100_000_000}),
            "memory",
        ),
        (
            "negative retries",
            json!({"size": 2, "params": ok, "retries": -1}),
            "retries",
        ),
        ("body is an array", json!([1, 2]), "object"),
    ];
    changing_nothing(&platform, || {
        for (what, body, named) in cases {
            let answer = client.flare(failing::NAME, &body);
            let status = answer.as_ref().err().and_then(Error::status).unwrap_or(200);
            assert!((400..500).contains(&status), "{what}: {answer:?}");
            let sentence = refused(answer, status);
            assert!(
                sentence.contains(named),
                "{what}: `{named}` is missing in: {sentence}"
            );
        }
        refused(client.flare("unknown", &json!({"size": 1})), 404);
    });
}

#[test]
fn bodies_that_are_not_json_are_refused() {
    let platform = platform();
    let bad = [
        "",
        "{",
        "{\"size\":2,}",
        "nonsense",
        "{\"size\":2}{\"size\":2}",
        "{\"size\":2,\"params\":{\"a\":\u{1}}}",
        "\u{feff}{",
    ];
    changing_nothing(&platform, || {
        for body in bad {
            for (method, path) in [
                (Method::POST, "bursts/failing"),
                (Method::PUT, "bursts/new"),
            ] {
                raw_body(&platform, method, path, "application/json", body).refusal(400);
            }
        }
        let deep = "[".repeat(100_000);
        raw_body(
            &platform,
            Method::POST,
            "bursts/failing",
            "application/json",
            &deep,
        )
        .refusal(400);
        let size = "{\"size\":2}";
        raw_body(
            &platform,
            Method::POST,
            "bursts/failing",
            "text/plain",
            size,
        )
        .refusal(415);
        raw_body(
            &platform,
            Method::PUT,
            "bursts/new",
            "application/zip",
            "PK",
        )
        .refusal(415);
    });
}

#[test]
fn bodies_over_the_limit_are_not_read() {
    let platform = platform();
    let api = platform.api();
    let endless = 1024 * MIB;
    changing_nothing(&platform, || {
        for (method, path) in [("POST", "bursts/failing"), ("PUT", "bursts/new")] {
            let announced = wire::announce(api, method, path, 1 << 40);
            announced.answer.refusal(413);
            assert!(announced.sent < 100);
        }
        // Without an announced length the server has to count. It stops 128 MiB beyond its limit of 8 or 90, as a
        // client that is still sending would not see its answer; as much data may then be in flight as the kernel's
        // buffers hold (36 MiB observed), or as arrives before its close does.
        for (method, path) in [("POST", "bursts/failing"), ("PUT", "bursts/new")] {
            let poured = wire::pour(api, method, path, endless);
            poured.answer.refusal(413);
            assert!(
                poured.sent <= endless / 2,
                "{} bytes were taken",
                poured.sent
            );
        }
    });
}

#[test]
fn invalid_credentials_are_refused() {
    let platform = platform();
    let api = platform.api();
    let auth = api.auth();
    let (uuid, key) = auth.split_once(':').unwrap();
    let path = "namespaces/_/bursts";
    let anonymous = || api.anonymous(Method::GET, path);
    changing_nothing(&platform, || {
        api.send(anonymous()).refusal(401);
        api.send(anonymous().basic_auth(uuid, Some("wrong")))
            .refusal(401);
        api.send(anonymous().basic_auth(uuid, Some("")))
            .refusal(401);
        api.send(anonymous().basic_auth("nobody", Some(key)))
            .refusal(401);
        api.send(anonymous().bearer_auth(key)).refusal(401);
        for header in ["Basic", "Basic %%%", "Basic QUJD", "Nonsense"] {
            api.send(anonymous().header("Authorization", header))
                .refusal(401);
        }
        for path in ["bursts/failing", "flares/0123456789abcdef0123456789abcdef"] {
            let other = api.request(Method::DELETE, &format!("namespaces/other/{path}"));
            api.send(other).refusal(403);
        }
        // An unauthorised caller does not learn that a body would have been too long either.
        let call = api.anonymous(Method::POST, "namespaces/_/bursts/failing");
        api.send(call.json(&json!({"size": 0}))).refusal(401);
    });
}

#[test]
fn invalid_paths_methods_and_queries_are_refused() {
    let platform = platform();
    let api = platform.api();
    let at = |method: Method, path: &str| api.send(api.request(method, path));
    changing_nothing(&platform, || {
        at(Method::GET, "namespaces/_/nonsense").refusal(404);
        at(Method::GET, "nonsense").refusal(404);
        refused(api.client().get_definition("unknown"), 404);
        refused(api.client().delete_definition("unknown"), 404);
        for view in ["", "/result", "/logs", "/timeline"] {
            api.get(&format!("flares/0123456789abcdef0123456789abcdef{view}"))
                .refusal(404);
            let answer = api.get(&format!("flares/no-id{view}"));
            assert!(matches!(answer.status, 400 | 404), "{}", answer.text);
        }
        let unknown = "0123456789abcdef0123456789abcdef";
        refused(api.client().cancel_flare(unknown), 404);
        at(Method::PATCH, "namespaces/_/bursts/failing").refusal(405);
        at(Method::POST, "namespaces/_/flares").refusal(405);
        for query in [
            "limit=-1",
            "limit=many",
            "skip=-1",
            "limit=99999999999",
            "state=happy",
        ] {
            api.get(&format!("flares?{query}")).refusal(400);
        }
        let no_http = [
            &b"this is not HTTP\r\n\r\n"[..],
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"GET /ping\r\n\r\n",
        ];
        for bytes in no_http {
            let answer = wire::raw(api, bytes);
            assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
            assert!(answer.contains("\"error\":"), "{answer}");
        }
    });
}

#[test]
fn the_command_line_refuses_invalid_input() {
    let platform = platform();
    let file = |name: &str, content: &str| {
        let path = platform.scratch().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let flare = |more: &[&str]| platform.cli(&[&["flare", failing::NAME], more].concat());
    changing_nothing(&platform, || {
        flare(&["--size", "0"]).exits(6).complains_of("size");
        flare(&["--size", "-1"]).exits(2);
        flare(&["--size", "2", "--backend", "pigeons"])
            .exits(6)
            .complains_of("backend");
        flare(&["--size", "2", "--packing", "tight"]).exits(2);
        flare(&["--params-file", &file("inputs.json", "[{},")]).exits(2);
        flare(&["--params-file", &file("none.json", "[]")]).exits(2);
        flare(&["--param-file", &file("list.json", "[1]")]).exits(2);
        platform.cli(&["status", "no-id"]).exits(6);
        platform.cli(&["frobnicate"]).exits(2);
    });
}

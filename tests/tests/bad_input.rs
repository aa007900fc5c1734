//! Bad input gets a clear refusal and changes nothing (issue 2, point 5).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use burst_tests::package::{definition, for_another_machine, needing_a_newer_c_library, zip_of};
use burst_tests::{Answer, Driver, Platform, Settings, built, failing, wire};
use reqwest::Method;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

fn platform() -> Platform {
    let platform = Platform::start(Settings::new(Driver::Process));
    failing::deploy(&platform);
    platform
}

/// Everything a bad request might have changed.
fn state(platform: &Platform) -> (Value, Value, u32) {
    let api = platform.api();
    (
        api.get("bursts").json,
        api.get("flares").json,
        api.free_slots(),
    )
}

/// Makes requests and checks that none changed anything.
fn changing_nothing(platform: &Platform, requests: impl FnOnce()) {
    let before = state(platform);
    requests();
    assert_eq!(state(platform), before);
}

fn raw_body(platform: &Platform, method: Method, path: &str, kind: &str, body: &str) -> Answer {
    let api = platform.api();
    let request = api.request(method, &format!("namespaces/_/{path}"));
    api.send(request.header("Content-Type", kind).body(body.to_owned()))
}

#[test]
fn flare_requests() {
    let platform = platform();
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
            "params is a string",
            json!({"size": 2, "params": "x"}),
            "params",
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
            "pigeons",
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
            let answer = platform.api().post("bursts/failing", &body);
            assert!(
                (400..500).contains(&answer.status),
                "{what}: {}",
                answer.text
            );
            let sentence = answer.refusal(answer.status);
            assert!(
                sentence.contains(named),
                "{what}: `{named}` is missing in: {sentence}"
            );
        }
        platform
            .api()
            .post("bursts/unknown", &json!({"size": 1}))
            .refusal(404);
    });
}

#[test]
fn bodies_that_are_no_json() {
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
fn deployments() {
    let platform = platform();
    let good = fs::read(built::program(failing::NAME)).unwrap();
    let corrupt = &zip_of("exec", &good)[..2000];
    let cases = [
        ("nothing in it", definition(b""), "code"),
        (
            "neither a zip nor an executable",
            definition(b"just some text"),
            "executable",
        ),
        ("a script", definition(b"#!/bin/sh\nexit 0\n"), "executable"),
        ("half a zip", definition(corrupt), "zip"),
        (
            "a zip without exec",
            definition(&zip_of("main", &good)),
            "exec",
        ),
        (
            "a zip whose exec is text",
            definition(&zip_of("exec", b"text")),
            "executable",
        ),
        (
            "a zip that leaves its directory",
            definition(&zip_of("../exec", &good)),
            "exec",
        ),
        (
            "half an executable",
            definition(&good[..4000]),
            "executable",
        ),
        (
            "another machine's",
            definition(&for_another_machine(good.clone())),
            "aarch64",
        ),
        (
            "a newer C library's",
            definition(&needing_a_newer_c_library(good.clone())),
            "9.99",
        ),
        (
            "no base64",
            json!({"exec": {"kind": "rust", "code": "%%%"}}),
            "base64",
        ),
        ("no exec", json!({"config": {}}), "exec"),
        (
            "unknown kind",
            json!({"exec": {"kind": "cobol", "code": "QUJD"}}),
            "kind",
        ),
        (
            "unknown field",
            json!({"exec": {"kind": "rust", "code": "QUJD"}, "extra": 1}),
            "extra",
        ),
    ];
    changing_nothing(&platform, || {
        for (what, body, named) in cases {
            let answer = platform.api().put("bursts/new", &body);
            let sentence = answer.refusal(400);
            assert!(
                sentence.contains(named),
                "{what}: `{named}` is missing in: {sentence}"
            );
        }
        let mut bad_option = definition(&good);
        bad_option["config"] = json!({"granularity": -3});
        assert!(
            platform
                .api()
                .put("bursts/new", &bad_option)
                .refusal(400)
                .contains("granularity")
        );
        let fine = definition(&good);
        for name in ["with%20space", "semi;colon", "%2e%2e", &"x".repeat(500)] {
            let answer = platform.api().put(&format!("bursts/{name}"), &fine);
            assert!(
                (400..500).contains(&answer.status),
                "{name}: {}",
                answer.text
            );
        }
        platform.api().put("bursts/failing", &fine).refusal(409);
        platform
            .api()
            .put("bursts/failing?overwrite=perhaps", &fine)
            .refusal(400);
    });
    // The checks refuse no good package.
    let answer = platform
        .api()
        .put("bursts/new", &definition(&zip_of("exec", &good)));
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[test]
fn bodies_over_the_limit_are_not_read() {
    let platform = platform();
    let api = platform.api();
    // What may be under way in the sockets' buffers when the server has stopped to read.
    let slack = 24 * MIB;
    changing_nothing(&platform, || {
        for (method, path) in [("POST", "bursts/failing"), ("PUT", "bursts/new")] {
            let announced = wire::announce(api, method, path, 1 << 40);
            announced.answer.refusal(413);
            assert!(announced.sent < 100);
        }
        // Without an announcement the server has to count, and stops at its limit.
        for (method, path, limit) in [("POST", "bursts/failing", 8), ("PUT", "bursts/new", 90)] {
            let poured = wire::pour(api, method, path, 1024 * MIB);
            poured.answer.refusal(413);
            assert!(
                poured.sent <= limit * MIB + slack,
                "{} bytes were taken",
                poured.sent
            );
        }
    });
}

#[test]
fn credentials() {
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
        // Who may not look is not told that a body would have been too long either.
        let call = api.anonymous(Method::POST, "namespaces/_/bursts/failing");
        api.send(call.json(&json!({"size": 0}))).refusal(401);
    });
}

#[test]
fn paths_methods_and_queries() {
    let platform = platform();
    let api = platform.api();
    let at = |method: Method, path: &str| api.send(api.request(method, path));
    changing_nothing(&platform, || {
        at(Method::GET, "namespaces/_/nonsense").refusal(404);
        at(Method::GET, "nonsense").refusal(404);
        api.get("bursts/unknown").refusal(404);
        api.delete("bursts/unknown").refusal(404);
        for view in ["", "/result", "/logs", "/timeline"] {
            api.get(&format!("flares/0123456789abcdef0123456789abcdef{view}"))
                .refusal(404);
            let answer = api.get(&format!("flares/no-id{view}"));
            assert!(matches!(answer.status, 400 | 404), "{}", answer.text);
        }
        api.delete("flares/0123456789abcdef0123456789abcdef")
            .refusal(404);
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
        let said = wire::raw(api, b"this is not HTTP\r\n\r\n");
        assert!(said.starts_with("HTTP/1.1 400"), "{said}");
    });
}

#[test]
fn by_the_command_line() {
    let platform = platform();
    let good = fs::read(built::program(failing::NAME)).unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = platform.scratch().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let deploy = |path: &str| platform.cli(&["deploy", "new", path]);
    let flare = |more: &[&str]| platform.cli(&[&["flare", failing::NAME], more].concat());
    changing_nothing(&platform, || {
        deploy(&file("text", b"just some text"))
            .exits(11)
            .complains_of("executable");
        deploy(&file("half.zip", &zip_of("exec", &good)[..2000]))
            .exits(11)
            .complains_of("zip");
        deploy(&file("other.zip", &zip_of("main", &good)))
            .exits(11)
            .complains_of("exec");
        deploy(&file("foreign", &for_another_machine(good.clone())))
            .exits(11)
            .complains_of("built for");
        deploy(&file("future", &needing_a_newer_c_library(good.clone())))
            .exits(6)
            .complains_of("9.99");
        deploy("/nowhere/at/all")
            .exits(2)
            .complains_of("/nowhere/at/all");
        flare(&["--size", "0"]).exits(6).complains_of("size");
        flare(&["--size", "-1"]).exits(2);
        flare(&["--size", "2", "--backend", "pigeons"])
            .exits(6)
            .complains_of("pigeons");
        flare(&["--size", "2", "--packing", "tight"]).exits(2);
        flare(&["--params-file", &file("inputs.json", b"[{},")]).exits(2);
        flare(&["--params-file", &file("none.json", b"[]")]).exits(6);
        flare(&["--param-file", &file("list.json", b"[1]")]).exits(2);
        platform.cli(&["status", "no-id"]).exits(3);
        platform.cli(&["frobnicate"]).exits(2);
    });
}

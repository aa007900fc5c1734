//! Packages that cannot run here are rejected when they are deployed (issue 2, point 5).

use std::fs;

use burst_client::DeployQuery;
use burst_tests::package::{definition, for_another_machine, needing_a_newer_c_library, zip_of};
use burst_tests::unchanged::changing_nothing;
use burst_tests::{Driver, Loan, Platform, Settings, built, failing, refused};
use reqwest::Method;
use serde_json::json;

fn platform() -> Loan {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    platform
}

#[test]
fn the_api_refuses_invalid_packages() {
    let platform = platform();
    let (client, once) = (platform.api().client(), DeployQuery::default());
    let good = fs::read(built::program(failing::NAME)).unwrap();
    let corrupt = &zip_of("exec", &good)[..2000];
    let cases = [
        ("nothing in it", definition(b""), "empty"),
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
            "path",
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
            let sentence = refused(client.deploy("new", &once, &body), 400);
            assert!(
                sentence.contains(named),
                "{what}: `{named}` is missing in: {sentence}"
            );
        }
        let mut bad_option = definition(&good);
        bad_option["config"] = json!({"granularity": -3});
        let sentence = refused(client.deploy("new", &once, &bad_option), 400);
        assert!(sentence.contains("granularity"), "{sentence}");
        let fine = definition(&good);
        let put = |path: &str| {
            let request = platform.api().request(Method::PUT, path);
            platform.api().send(request.json(&fine))
        };
        for name in ["-dash", "semi;colon", "%2e%2e", &"x".repeat(500)] {
            let answer = put(&format!("namespaces/_/bursts/{name}"));
            assert!(
                (400..500).contains(&answer.status),
                "{name}: {}",
                answer.text
            );
        }
        refused(client.deploy(failing::NAME, &once, &fine), 409);
        put("namespaces/_/bursts/failing?overwrite=perhaps").refusal(400);
    });
    // The checks reject no good package.
    let fine = definition(&zip_of("exec", &good));
    client.deploy("new", &once, &fine).unwrap();
}

#[test]
fn the_command_line_refuses_invalid_packages() {
    let platform = platform();
    let good = fs::read(built::program(failing::NAME)).unwrap();
    let deploy = |name: &str, content: &[u8]| {
        let path = platform.scratch().join(name);
        fs::write(&path, content).unwrap();
        platform.cli(&["deploy", "new", path.to_str().unwrap()])
    };
    changing_nothing(&platform, || {
        deploy("text", b"just some text")
            .exits(11)
            .complains_of("executable");
        deploy("half.zip", &zip_of("exec", &good)[..2000])
            .exits(11)
            .complains_of("zip");
        deploy("other.zip", &zip_of("main", &good))
            .exits(11)
            .complains_of("exec");
        // Only the platform knows the processors and the C library of its packs.
        let foreign = for_another_machine(good.clone());
        deploy("foreign", &foreign)
            .exits(6)
            .complains_of("built for");
        let future = needing_a_newer_c_library(good.clone());
        deploy("future", &future).exits(6).complains_of("9.99");
        let nowhere = platform.cli(&["deploy", "new", "/nowhere/at/all"]);
        nowhere.exits(2).complains_of("/nowhere/at/all");
    });
}

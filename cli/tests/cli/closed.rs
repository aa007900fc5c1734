//! Output that nobody reads any more, and what answers in the platform's place.

use std::io::pipe;
use std::process::Stdio;

use crate::deploy::{deployed, invokers};
use crate::flare::{RESULT, STARTED, flare};
use crate::platform::Platform;
use crate::program::{Burst, Ran};

const FLARE: &str = "GET /flares/f1000000000000000000000000000001";
const ID: &str = "f1000000000000000000000000000001";

/// A pipe whose reader has seen enough.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn the_exit_code_is_the_flares_even_if_nobody_reads_the_output() {
    for (state, code) in [("succeeded", 0), ("failed", 1), ("timed-out", 9)] {
        let platform = Platform::start();
        platform
            .on(FLARE, 200, &flare(state, "null"))
            .on(&format!("{FLARE}/result"), 200, RESULT);
        let burst = Burst::of(&platform);
        for command in ["wait", "result"] {
            let mut burst = burst.command(&[command, ID]);
            let ran = Ran::from(burst.stdout(closed()).output().unwrap());
            assert_eq!(ran.code, Some(code), "{command} {state}: {ran:?}");
        }
    }
}

#[test]
fn a_run_goes_on_if_nobody_reads_its_log() {
    let logs = r#"{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[
        {"worker":1,"pack":0,"stream":"stdout","at":1700000000000000,"line":"hello"}]}"#;
    let platform = Platform::start();
    platform
        .on("GET /api/v1/invokers", 200, &invokers())
        .on("PUT /bursts/hello", 200, &deployed())
        .on("POST /bursts/hello", 202, STARTED)
        .on(FLARE, 200, &flare("running", "null"))
        .on(FLARE, 200, &flare("succeeded", "null"))
        .on(&format!("{FLARE}/logs"), 200, logs)
        .on(&format!("{FLARE}/result"), 200, RESULT);
    let burst = Burst::of(&platform);
    burst.executable("hello", "/bin/sh");
    let mut run = burst.command(&["run", "hello"]);
    let ran = Ran::from(run.stderr(closed()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("12345678901234567890123"), "{ran:?}");
}

#[test]
fn a_login_page_is_no_success() {
    let page = "<html>log in</html>";
    let platform = Platform::start();
    platform
        .always("DELETE /bursts/hello", 200, page)
        .always("GET /bursts", 200, page);
    let burst = Burst::of(&platform);
    for args in [
        ["delete", "hello"].as_slice(),
        &["list", "--output", "json"],
    ] {
        let ran = burst.run(args);
        assert!(ran.fails(8).contains("could not be understood"), "{ran:?}");
        assert_eq!(ran.out, "");
    }
}

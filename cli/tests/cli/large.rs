//! Responses that are larger than the memory the program may use.

use std::io::Read;

use crate::platform::Platform;
use crate::program::Burst;

const PIECE: usize = 1 << 20;
const PIECES: usize = 48;
/// Half of the response's size. A program that has just started uses a third of this.
const MOST: usize = PIECES * PIECE / 2;

/// Reads all but the last part of the program's output, and returns its peak memory at that point, in
/// bytes.
fn peak(burst: &Burst, args: &[&str], printed: usize) -> usize {
    let mut child = burst.command(args).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    // The program cannot exit before this part is read, because a pipe holds less.
    let last = PIECE as u64;
    let most = std::io::copy(
        &mut out.by_ref().take(printed as u64 - last),
        &mut std::io::sink(),
    );
    assert_eq!(most.unwrap(), printed as u64 - last);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    peak * 1024
}

#[test]
fn large_results_are_streamed_output_by_output() {
    let platform = Platform::start();
    let text = "x".repeat(PIECE);
    let outputs: Vec<String> = (0..PIECES)
        .map(|worker| format!(r#"{{"worker":{worker},"output":"{text}"}}"#))
        .collect();
    platform.always(
        "GET /flares/f1000000000000000000000000000001/result",
        200,
        &format!(
            r#"{{"flareId":"f1000000000000000000000000000001","state":"succeeded","error":null,"outputs":[{}]}}"#,
            outputs.join(",")
        ),
    );
    // Each piece has quotes, indentation, and a comma or line end; the brackets come on top.
    let printed = PIECES * (PIECE + 6) + 2;
    let peak = peak(
        &Burst::of(&platform),
        &["result", "f1000000000000000000000000000001"],
        printed,
    );
    assert!(peak < MOST, "{peak} bytes");
}

#[test]
fn large_logs_are_streamed_line_by_line() {
    let platform = Platform::start();
    let text = "x".repeat(1000);
    let line = format!(r#"{{"worker":0,"pack":0,"stream":"stdout","at":0,"line":"{text}"}}"#);
    let count = PIECES * PIECE / 1000;
    let logs = vec![line; count].join(",");
    let body = format!(
        r#"{{"flareId":"f1000000000000000000000000000001","truncated":false,"next":1,"logs":[{logs}]}}"#
    );
    platform.always(
        "GET /flares/f1000000000000000000000000000001/logs",
        200,
        &body,
    );
    let burst = Burst::of(&platform);
    let prefix = "1970-01-01T00:00:00.000Z worker 0 stdout: ".len();
    let people = peak(
        &burst,
        &["logs", "f1000000000000000000000000000001"],
        count * (prefix + 1001),
    );
    assert!(people < MOST, "{people} bytes");
    let json = [
        "logs",
        "f1000000000000000000000000000001",
        "--output",
        "json",
    ];
    let json = peak(&burst, &json, body.len() + 1);
    assert!(json < MOST, "{json} bytes");
}

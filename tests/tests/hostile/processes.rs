//! Processes, threads, signals.

use serde_json::json;

use super::script::{Expected, Script, in_flare, refused};

const CRASH: &[&str] = &["exit", "signal", "abort", "internal", "pack-lost"];

pub fn scripts() -> Vec<Script> {
    vec![
        in_flare(
            "a bomb of processes, left behind",
            Expected::Success,
            json!([{"do": "bomb", "generations": 6}]),
        ),
        in_flare(
            "as many processes as there may be",
            Expected::Success,
            json!([{"do": "fork", "count": 2000}]),
        )
        .in_containers(),
        in_flare(
            "a bomb of processes, and the end",
            Expected::Failure(CRASH),
            json!([{"do": "bomb", "generations": 6}, {"do": "exit"}]),
        ),
        in_flare(
            "a daemon that waits",
            Expected::Success,
            json!([{"do": "daemon"}]),
        ),
        in_flare(
            "a daemon that computes",
            Expected::Success,
            json!([{"do": "daemon", "lives": "spin"}]),
        )
        .busy(),
        in_flare(
            "a daemon that goes on without its first thread",
            Expected::Success,
            json!([{"do": "daemon", "lives": "headless"}]),
        )
        .busy(),
        in_flare(
            "a daemon below the program itself",
            Expected::Success,
            json!([{"do": "call", "name": "prctl", "arguments": [36, 1]}, {"do": "daemon"}]),
        ),
        in_flare(
            "daemons with a name that ends in a bracket",
            Expected::Success,
            json!([{"do": "name", "name": "a) R 1 1 1"}, {"do": "daemon"}, {"do": "fork"}]),
        ),
        in_flare(
            "a child that computes",
            Expected::Success,
            json!([{"do": "fork", "lives": "spin"}]),
        )
        .busy(),
        in_flare(
            "threads that compute",
            Expected::Success,
            json!([{"do": "threads", "count": 2, "lives": "spin"}]),
        )
        .busy(),
        in_flare(
            "threads that wait",
            Expected::Success,
            json!([{"do": "threads", "count": 100}]),
        ),
        in_flare(
            "as many threads as there may be",
            Expected::Success,
            json!([{"do": "threads", "count": 5000}]),
        )
        .in_containers()
        .discard_packs(),
        in_flare(
            "children that nobody buries",
            Expected::Success,
            json!([{"do": "fork", "count": 200, "lives": "exit"}]),
        ),
        in_flare(
            "trace the runtime",
            Expected::Success,
            json!([{"do": "trace", "who": "runtime"}]),
        )
        .expect_result("trace", refused),
        in_flare(
            "read the runtime's memory",
            Expected::Success,
            json!([{"do": "read-memory"}]),
        )
        .expect_result("read-memory", refused),
        in_flare(
            "kill the runtime",
            Expected::Anything,
            json!([{"do": "kill", "who": "runtime", "signal": 9}, {"do": "sleep"}]),
        ),
        in_flare(
            "kill the runtime, and live on",
            Expected::Anything,
            json!([
                {"do": "call", "name": "prctl", "arguments": [1, 0]},
                {"do": "daemon"},
                {"do": "kill", "who": "runtime", "signal": 9},
                {"do": "hang"}
            ]),
        )
        .timeout(1_500)
        // A process can kill anything of the same user; one with a user of its own cannot.
        .in_containers(),
        in_flare(
            "stop the runtime",
            Expected::Anything,
            json!([{"do": "kill", "who": "runtime", "signal": 19}, {"do": "sleep"}]),
        )
        .timeout(700),
        in_flare(
            "ask the runtime to end",
            Expected::Failure(CRASH),
            json!([{"do": "kill", "who": "runtime", "signal": 15}, {"do": "hang"}]),
        ),
        in_flare(
            "kill all there are",
            Expected::Anything,
            json!([{"do": "kill", "who": "all", "signal": 9}, {"do": "sleep"}]),
        )
        .in_containers(),
        in_flare(
            "stop all there are",
            Expected::Anything,
            json!([{"do": "kill", "who": "all", "signal": 19}, {"do": "sleep"}]),
        )
        .timeout(700)
        .in_containers(),
        in_flare(
            "alarm the runtime",
            Expected::Anything,
            json!([
                {"do": "kill", "who": "runtime", "signal": 17},
                {"do": "kill", "who": "runtime", "signal": 13},
                {"do": "kill", "who": "runtime", "signal": 1},
                {"do": "sleep"}
            ]),
        ),
        in_flare(
            "a session of its own",
            Expected::Success,
            json!([{"do": "fork"}, {"do": "call", "name": "setsid"}, {"do": "fork"}]),
        ),
        in_flare(
            "a group of the runtime's",
            Expected::Anything,
            json!([{"do": "call", "name": "setpgid", "arguments": [0, "runtime"]}, {"do": "hang"}]),
        )
        .timeout(700),
        in_flare(
            "no death with its parent",
            Expected::Success,
            json!([{"do": "call", "name": "prctl", "arguments": [1, 0]}]),
        ),
        in_flare(
            "closed to all others",
            Expected::Timeout,
            json!([{"do": "call", "name": "prctl", "arguments": [4, 0]}, {"do": "hang"}]),
        )
        .timeout(700),
        in_flare(
            "first at the processor, last to be killed",
            Expected::Success,
            json!([{"do": "first-of-all"}]),
        )
        .expect_result("first-of-all", |result| {
            result == &json!([false, false, false])
        }),
        in_flare(
            "a user name space",
            Expected::Success,
            json!([{"do": "call", "name": "unshare", "arguments": [0x1000_0000]}]),
        )
        .in_containers()
        .expect_result("call", refused),
        in_flare(
            "rings, programs and faults of the kernel's",
            Expected::Success,
            json!([
                {"do": "call", "name": "io_uring_setup", "arguments": [4096, 0]},
                {"do": "call", "name": "bpf", "arguments": [0, 0, 0]},
                {"do": "call", "name": "userfaultfd", "arguments": [0]},
                {"do": "call", "name": "perf_event_open", "arguments": [0, 0, -1, -1, 0]}
            ]),
        ),
        in_flare(
            "no limits left to itself",
            Expected::Anything,
            json!([{"do": "limits"}]),
        )
        .discard_packs(),
    ]
}

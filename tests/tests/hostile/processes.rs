//! Processes, threads, signals.

use serde_json::json;

use super::script::{Ends, Script, refused, within};

const DIED: &[&str] = &["exit", "signal", "abort", "internal", "pack-lost"];

pub fn scripts() -> Vec<Script> {
    vec![
        within(
            "a bomb of processes, left behind",
            Ends::Well,
            json!([{"do": "bomb", "generations": 6}]),
        ),
        within(
            "as many processes as there may be",
            Ends::Well,
            json!([{"do": "fork", "count": 2000}]),
        )
        .in_containers(),
        within(
            "a bomb of processes, and the end",
            Ends::Badly(DIED),
            json!([{"do": "bomb", "generations": 6}, {"do": "exit"}]),
        ),
        within("a daemon that waits", Ends::Well, json!([{"do": "daemon"}])),
        within(
            "a daemon that computes",
            Ends::Well,
            json!([{"do": "daemon", "lives": "spin"}]),
        )
        .busy(),
        within(
            "a daemon that goes on without its first thread",
            Ends::Well,
            json!([{"do": "daemon", "lives": "headless"}]),
        )
        .busy(),
        within(
            "a daemon below the program itself",
            Ends::Well,
            json!([{"do": "call", "name": "prctl", "arguments": [36, 1]}, {"do": "daemon"}]),
        ),
        within(
            "daemons with a name that ends in a bracket",
            Ends::Well,
            json!([{"do": "name", "name": "a) R 1 1 1"}, {"do": "daemon"}, {"do": "fork"}]),
        ),
        within(
            "a child that computes",
            Ends::Well,
            json!([{"do": "fork", "lives": "spin"}]),
        )
        .busy(),
        within(
            "threads that compute",
            Ends::Well,
            json!([{"do": "threads", "count": 2, "lives": "spin"}]),
        )
        .busy(),
        within(
            "threads that wait",
            Ends::Well,
            json!([{"do": "threads", "count": 100}]),
        ),
        within(
            "as many threads as there may be",
            Ends::Well,
            json!([{"do": "threads", "count": 5000}]),
        )
        .in_containers()
        .spoiled(),
        within(
            "children that nobody buries",
            Ends::Well,
            json!([{"do": "fork", "count": 200, "lives": "exit"}]),
        ),
        within(
            "trace the runtime",
            Ends::Well,
            json!([{"do": "trace", "who": "runtime"}]),
        )
        .noted("trace", refused),
        within(
            "read the runtime's memory",
            Ends::Well,
            json!([{"do": "read-memory"}]),
        )
        .noted("read-memory", refused),
        within(
            "kill the runtime",
            Ends::Somehow,
            json!([{"do": "kill", "who": "runtime", "signal": 9}, {"do": "sleep"}]),
        ),
        within(
            "kill the runtime, and live on",
            Ends::Somehow,
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
        within(
            "stop the runtime",
            Ends::Somehow,
            json!([{"do": "kill", "who": "runtime", "signal": 19}, {"do": "sleep"}]),
        )
        .timeout(700),
        within(
            "ask the runtime to end",
            Ends::Badly(DIED),
            json!([{"do": "kill", "who": "runtime", "signal": 15}, {"do": "hang"}]),
        ),
        within(
            "kill all there are",
            Ends::Somehow,
            json!([{"do": "kill", "who": "all", "signal": 9}, {"do": "sleep"}]),
        )
        .in_containers(),
        within(
            "stop all there are",
            Ends::Somehow,
            json!([{"do": "kill", "who": "all", "signal": 19}, {"do": "sleep"}]),
        )
        .timeout(700)
        .in_containers(),
        within(
            "alarm the runtime",
            Ends::Somehow,
            json!([
                {"do": "kill", "who": "runtime", "signal": 17},
                {"do": "kill", "who": "runtime", "signal": 13},
                {"do": "kill", "who": "runtime", "signal": 1},
                {"do": "sleep"}
            ]),
        ),
        within(
            "a session of its own",
            Ends::Well,
            json!([{"do": "fork"}, {"do": "call", "name": "setsid"}, {"do": "fork"}]),
        ),
        within(
            "a group of the runtime's",
            Ends::Somehow,
            json!([{"do": "call", "name": "setpgid", "arguments": [0, "runtime"]}, {"do": "hang"}]),
        )
        .timeout(700),
        within(
            "no death with its parent",
            Ends::Well,
            json!([{"do": "call", "name": "prctl", "arguments": [1, 0]}]),
        ),
        within(
            "closed to all others",
            Ends::Late,
            json!([{"do": "call", "name": "prctl", "arguments": [4, 0]}, {"do": "hang"}]),
        )
        .timeout(700),
        within(
            "first at the processor, last to be killed",
            Ends::Well,
            json!([{"do": "first-of-all"}]),
        )
        .noted("first-of-all", |came| came == &json!([false, false, false])),
        within(
            "a user name space",
            Ends::Well,
            json!([{"do": "call", "name": "unshare", "arguments": [0x1000_0000]}]),
        )
        .in_containers()
        .noted("call", refused),
        within(
            "rings, programs and faults of the kernel's",
            Ends::Well,
            json!([
                {"do": "call", "name": "io_uring_setup", "arguments": [4096, 0]},
                {"do": "call", "name": "bpf", "arguments": [0, 0, 0]},
                {"do": "call", "name": "userfaultfd", "arguments": [0]},
                {"do": "call", "name": "perf_event_open", "arguments": [0, 0, -1, -1, 0]}
            ]),
        ),
        within(
            "no limits left to itself",
            Ends::Somehow,
            json!([{"do": "limits"}]),
        )
        .spoiled(),
    ]
}

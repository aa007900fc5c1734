//! Kernel resources of processes. The kernel accounts for many of them by user: packs that are processes share one with
//! the platform; containers must not.

use serde_json::{Value, json};

use super::script::{Ends, Script, within};

/// A script that takes as much of a resource as it can, and keeps it while the others must go on and after its own
/// flare.
fn takes(name: &'static str, deed: &Value) -> Script {
    within(
        name,
        Ends::Somehow,
        json!([deed, {"do": "sleep", "millis": 300}]),
    )
    .timeout(20_000)
    .in_containers()
}

fn take(name: &'static str, what: &str) -> Script {
    takes(name, &json!({"do": "take", "what": what}))
}

pub fn scripts() -> Vec<Script> {
    vec![
        take("descriptors", "descriptors").spoiled(),
        take("pipes", "pipes").spoiled(),
        take("instances of inotify", "inotify-instances"),
        take("instances of epoll", "epoll-instances").spoiled(),
        take("timers", "timers"),
        take("timers that are descriptors", "timer-descriptors").spoiled(),
        take("semaphores", "semaphores"),
        take("message queues", "message-queues"),
        take("message queues of POSIX", "posix-queues"),
        take("keys", "keys"),
        take("sockets", "sockets").spoiled(),
        take("files without a name", "memory-files").spoiled(),
        takes(
            "watches by epoll",
            &json!({"do": "watches", "by": "epoll", "count": 20_000_000, "millis": 14_000}),
        )
        .spoiled()
        .counted(),
        takes(
            "watches by inotify",
            &json!({"do": "watches", "by": "inotify"}),
        ),
        takes("signals that wait", &json!({"do": "pending-signals"})),
        takes(
            "descriptors in flight",
            &json!({"do": "descriptors-in-flight"}),
        )
        .spoiled(),
    ]
}

//! Kernel resources of processes. The kernel accounts for many of them by user: packs that are processes share one with
//! the platform; containers must not.

use serde_json::{Value, json};

use super::script::{Expected, Script, in_flare};

/// A script that takes as much of a resource as it can, and keeps it while the others must go on and after its own
/// flare.
fn takes(name: &'static str, step: &Value) -> Script {
    in_flare(
        name,
        Expected::Anything,
        json!([step, {"do": "sleep", "millis": 300}]),
    )
    .timeout(20_000)
    .in_containers()
}

fn take(name: &'static str, what: &str) -> Script {
    takes(name, &json!({"do": "take", "what": what}))
}

pub fn scripts() -> Vec<Script> {
    vec![
        take("descriptors", "descriptors").discard_packs(),
        take("pipes", "pipes").discard_packs(),
        take("instances of inotify", "inotify-instances"),
        take("instances of epoll", "epoll-instances").discard_packs(),
        take("timers", "timers"),
        take("timers that are descriptors", "timer-descriptors").discard_packs(),
        take("semaphores", "semaphores"),
        take("message queues", "message-queues"),
        take("message queues of POSIX", "posix-queues"),
        take("keys", "keys"),
        take("sockets", "sockets").discard_packs(),
        take("files without a name", "memory-files").discard_packs(),
        takes(
            "watches by epoll",
            &json!({"do": "watches", "by": "epoll", "count": 20_000_000, "millis": 14_000}),
        )
        .discard_packs()
        .accounted(),
        takes(
            "watches by inotify",
            &json!({"do": "watches", "by": "inotify"}),
        ),
        takes("signals that wait", &json!({"do": "pending-signals"})),
        takes(
            "descriptors in flight",
            &json!({"do": "descriptors-in-flight"}),
        )
        .discard_packs(),
    ]
}

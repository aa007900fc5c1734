//! Files, in places where a pack can write and in places where it cannot.

use serde_json::{Value, json};

use super::script::{Ends, Script, refused, within};

/// A script that leaves something for the next flare to find.
fn leaves(name: &'static str, deed: &Value) -> Script {
    within(name, Ends::Well, json!([deed])).in_containers()
}

pub fn scripts() -> Vec<Script> {
    vec![
        leaves("all of /tmp, left", &json!({"do": "fill", "mebibytes": 60})),
        leaves(
            "all of the shared memory, left",
            &json!({"do": "fill", "in": "shared memory", "mebibytes": 60}),
        ),
        leaves(
            "thousands of files, left",
            &json!({"do": "many", "count": 20_000}),
        ),
        leaves(
            "a thousand directories within each other, left",
            &json!({"do": "deep"}),
        ),
        leaves(
            "pipes, sockets and names that are no text, left",
            &json!({"do": "strange"}),
        ),
        leaves("a directory that is shut, left", &json!({"do": "shut"})),
        leaves(
            "a file with holes, left",
            &json!({"do": "sparse", "gibibytes": 1024}),
        ),
        leaves(
            "a link to the runtime, left",
            &json!({"do": "link", "to": "/usr/local/bin/burst-runtime"}),
        ),
        leaves(
            "a link from the package",
            &json!({"do": "link", "to": "/etc/passwd", "in": "package"}),
        )
        .noted("link", refused),
        leaves("a file in the package", &json!({"do": "mark-package"}))
            .noted("mark-package", refused),
        leaves("the program itself", &json!({"do": "mark-memory"})).noted("mark-memory", refused),
        leaves(
            "the kernel's settings",
            &json!({"do": "write", "path": "/proc/sys/vm/overcommit_memory", "text": "1"}),
        )
        .noted("write", refused),
        within(
            "the runtime's place among those to be killed",
            Ends::Well,
            json!([{"do": "write", "path": "/proc/1/oom_score_adj", "text": "1000"}]),
        )
        .noted("write", refused),
        within(
            "the runtime's memory and environment",
            Ends::Well,
            json!([{"do": "read", "path": "/proc/1/environ"}]),
        )
        .noted("read", refused),
    ]
}

//! Files, in places where a pack can write and in places where it cannot.

use serde_json::{Value, json};

use super::script::{Expected, Script, in_flare, refused};

/// A script that leaves something for the next flare to find.
fn leaves(name: &'static str, step: &Value) -> Script {
    in_flare(name, Expected::Success, json!([step])).in_containers()
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
        .expect_result("link", refused),
        leaves("a file in the package", &json!({"do": "mark-package"}))
            .expect_result("mark-package", refused),
        leaves("the program itself", &json!({"do": "mark-memory"}))
            .expect_result("mark-memory", refused),
        leaves(
            "the kernel's settings",
            &json!({"do": "write", "path": "/proc/sys/vm/overcommit_memory", "text": "1"}),
        )
        .expect_result("write", refused),
        in_flare(
            "the runtime's place among those to be killed",
            Expected::Success,
            json!([{"do": "write", "path": "/proc/1/oom_score_adj", "text": "1000"}]),
        )
        .expect_result("write", refused),
        in_flare(
            "the runtime's memory and environment",
            Expected::Success,
            json!([{"do": "read", "path": "/proc/1/environ"}]),
        )
        .expect_result("read", refused),
    ]
}

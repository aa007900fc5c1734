//! Connections to parties that do not expect them: the neighbour's runtime and the endpoints of its packs, the other
//! packs of the flare, the pack's own runtime, the host, and the metadata services of clouds.

use serde_json::{Value, json};

use super::script::{Expected, Script, begin_and_end, in_flare, none};

fn network_script(name: &'static str, step: &Value) -> Script {
    in_flare(name, Expected::Anything, json!([step])).timeout(10_000)
}

/// Connects to a party that only its own packs may reach; packs that are processes all share one machine.
fn unreachable_party(name: &'static str, step: &Value) -> Script {
    network_script(name, step)
        .expect_result(step_name(step), none)
        .in_containers()
}

fn step_name(step: &Value) -> &'static str {
    match step["do"].as_str() {
        Some("scan") => "scan",
        Some("stream") => "stream",
        _ => "connect",
    }
}

pub fn scripts() -> Vec<Script> {
    vec![
        network_script(
            "half a header at its own runtime, 800 times",
            &json!({"do": "connect", "to": "runtime", "kind": "half a header", "length": 390_000,
                "count": 800, "millis": 2000}),
        )
        .in_containers(),
        network_script(
            "large bodies at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "a large body", "length": 200_000,
                "count": 200}),
        )
        .in_containers(),
        network_script(
            "noise at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "noise", "length": 10_000,
                "count": 200}),
        )
        .in_containers(),
        network_script(
            "requests without a token at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "no body", "count": 200}),
        )
        .in_containers(),
        network_script(
            "a thousand connections to its own runtime, kept",
            &json!({"do": "connect", "to": "runtime", "count": 1000, "kept": true}),
        )
        .in_containers(),
        network_script(
            "all addresses of its network, looked for",
            &json!({"do": "look-for-all", "millis": 5000}),
        )
        .in_containers(),
        unreachable_party(
            "one connection to the neighbour's runtimes",
            &json!({"do": "connect", "to": "neighbour", "count": 1}),
        ),
        unreachable_party(
            "half a header at the neighbour, 800 times",
            &json!({"do": "connect", "to": "neighbour", "kind": "half a header", "length": 390_000,
                "count": 800, "millis": 2000}),
        ),
        network_script(
            "noise at the neighbour's endpoints",
            &json!({"do": "connect", "to": "neighbour", "kind": "noise", "length": 4000,
                "count": 200}),
        ),
        network_script(
            "300 half-open handshakes with the neighbour",
            &json!({"do": "connect", "to": "neighbour", "text": "BUR", "count": 300,
                "millis": 500}),
        ),
        network_script(
            "a flood at the neighbour's endpoints",
            &json!({"do": "stream", "to": "neighbour", "mebibytes": 64}),
        ),
        network_script(
            "datagrams to the neighbour",
            &json!({"do": "datagrams", "to": "neighbour", "count": 20_000, "length": 1000}),
        ),
        unreachable_party(
            "a scan of the neighbour's ports",
            &json!({"do": "scan", "to": "neighbour", "ports": 200}),
        ),
        unreachable_party(
            "who listens on the host",
            &json!({"do": "connect", "to": "host"}),
        ),
        unreachable_party(
            "what clouds tell their machines",
            &json!({"do": "connect", "to": "169.254.169.254:80"}),
        ),
        network_script(
            "as many ports as there are",
            &json!({"do": "wear-out-ports"}),
        )
        .in_containers(),
        in_flare(
            "a flood of one's own flare",
            Expected::Success,
            json!([{"do": "stream", "to": "peers", "mebibytes": 64}]),
        )
        .and(begin_and_end(json!([{"do": "listen", "millis": 500}]))),
        in_flare(
            "noise between the packs of a flare",
            Expected::Success,
            json!([{"do": "connect", "to": "peers", "kind": "noise", "length": 4000, "count": 100}]),
        )
        .and(begin_and_end(json!([{"do": "listen", "millis": 300}]))),
        in_flare(
            "endpoints that nobody listens at",
            Expected::Anything,
            json!([{"do": "sleep", "millis": 50}]),
        )
        .and(begin_and_end(json!([]))),
    ]
}

//! Connections to parties that do not expect them: the neighbour's runtime and the endpoints of its packs, the other
//! packs of the flare, the pack's own runtime, the host, and the metadata services of clouds.

use serde_json::{Value, json};

use super::script::{Ends, Script, honest, none, within};

fn lonely(name: &'static str, deed: &Value) -> Script {
    within(name, Ends::Somehow, json!([deed])).timeout(10_000)
}

/// Connects to a party that only its own packs may reach; packs that are processes all share one machine.
fn kept_out(name: &'static str, deed: &Value) -> Script {
    lonely(name, deed)
        .noted(deed_of(deed), none)
        .in_containers()
}

fn deed_of(deed: &Value) -> &'static str {
    match deed["do"].as_str() {
        Some("scan") => "scan",
        Some("stream") => "stream",
        _ => "connect",
    }
}

pub fn scripts() -> Vec<Script> {
    vec![
        lonely(
            "half a header at its own runtime, 800 times",
            &json!({"do": "connect", "to": "runtime", "kind": "half a header", "length": 390_000,
                "count": 800, "millis": 2000}),
        )
        .in_containers(),
        lonely(
            "large bodies at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "a large body", "length": 200_000,
                "count": 200}),
        )
        .in_containers(),
        lonely(
            "noise at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "noise", "length": 10_000,
                "count": 200}),
        )
        .in_containers(),
        lonely(
            "requests without a token at its own runtime",
            &json!({"do": "connect", "to": "runtime", "kind": "no body", "count": 200}),
        )
        .in_containers(),
        lonely(
            "a thousand connections to its own runtime, kept",
            &json!({"do": "connect", "to": "runtime", "count": 1000, "kept": true}),
        )
        .in_containers(),
        lonely(
            "all addresses of its network, looked for",
            &json!({"do": "look-for-all", "millis": 5000}),
        )
        .in_containers(),
        kept_out(
            "one connection to the neighbour's runtimes",
            &json!({"do": "connect", "to": "neighbour", "count": 1}),
        ),
        kept_out(
            "half a header at the neighbour, 800 times",
            &json!({"do": "connect", "to": "neighbour", "kind": "half a header", "length": 390_000,
                "count": 800, "millis": 2000}),
        ),
        lonely(
            "noise at the neighbour's endpoints",
            &json!({"do": "connect", "to": "neighbour", "kind": "noise", "length": 4000,
                "count": 200}),
        ),
        lonely(
            "300 half-open handshakes with the neighbour",
            &json!({"do": "connect", "to": "neighbour", "text": "BUR", "count": 300,
                "millis": 500}),
        ),
        lonely(
            "a flood at the neighbour's endpoints",
            &json!({"do": "stream", "to": "neighbour", "mebibytes": 64}),
        ),
        lonely(
            "datagrams to the neighbour",
            &json!({"do": "datagrams", "to": "neighbour", "count": 20_000, "length": 1000}),
        ),
        kept_out(
            "a scan of the neighbour's ports",
            &json!({"do": "scan", "to": "neighbour", "ports": 200}),
        ),
        kept_out(
            "who listens on the host",
            &json!({"do": "connect", "to": "host"}),
        ),
        kept_out(
            "what clouds tell their machines",
            &json!({"do": "connect", "to": "169.254.169.254:80"}),
        ),
        lonely("as many ports as there are", &json!({"do": "wear-out-ports"})).in_containers(),
        within(
            "a flood of one's own flare",
            Ends::Well,
            json!([{"do": "stream", "to": "peers", "mebibytes": 64}]),
        )
        .and(honest(json!([{"do": "listen", "millis": 500}]))),
        within(
            "noise between the packs of a flare",
            Ends::Well,
            json!([{"do": "connect", "to": "peers", "kind": "noise", "length": 4000, "count": 100}]),
        )
        .and(honest(json!([{"do": "listen", "millis": 300}]))),
        within(
            "endpoints that nobody listens at",
            Ends::Somehow,
            json!([{"do": "sleep", "millis": 50}]),
        )
        .and(honest(json!([]))),
    ]
}

//! RabbitMQ, on which each flare has a user and a virtual host of its own.

use burst_tests::rabbitmq::USER;
use serde_json::{Value, json};

use super::script::Script;
use super::servers::{all, forbidden, two_pack_script};

/// A script that the server must let in nowhere: it reports that, or closes the connection.
fn refused(name: &'static str, step: Value) -> Script {
    let mut step = step;
    step["do"] = json!("amqp");
    two_pack_script(name, &step).expect_result("amqp", |result| {
        all(result, |answer| {
            let refusals = [
                "login: ",
                "virtual host: NOT_ALLOWED",
                "virtual host: INTERNAL",
            ];
            refusals.iter().any(|refusal| answer.starts_with(refusal))
        })
    })
}

/// Methods in the flare's own virtual host.
fn methods(name: &'static str, methods: &Value) -> Script {
    two_pack_script(name, &json!({"do": "amqp", "methods": methods}))
}

/// The scripts for a server whose management API is at this address.
pub fn scripts(management: &str) -> Vec<Script> {
    let declare = json!({"method": "declare", "queue": "left"});
    let asked = |name, requests: Value| {
        let step = json!({"do": "http", "to": management, "requests": requests});
        two_pack_script(name, &step).expect_result("http", forbidden)
    };
    let noise = |name, text: &str, times: u32, connections: u32| {
        let step = json!({"do": "backend-noise", "text": text, "times": times,
            "connections": connections});
        two_pack_script(name, &step)
    };
    vec![
        refused("the platform's virtual host", json!({"vhost": "/"})),
        refused(
            "a virtual host of another flare",
            json!({"vhost": "burst.NEIGHBOUR"}),
        ),
        refused(
            "the user of a fresh server",
            json!({"user": "guest", "password": "guest", "vhost": "/"}),
        ),
        refused(
            "the platform's user, with one's own password",
            json!({"user": USER}),
        ),
        asked(
            "who is who, from the management API",
            json!([
                ["GET", "/api/users", "OWN"],
                ["GET", "/api/vhosts", "OWN"],
                ["GET", "/api/definitions", "OWN"],
                ["GET", "/api/connections", "guest:guest"],
                ["GET", "/api/overview", ""]
            ]),
        ),
        asked(
            "more rights, from the management API",
            json!([
                ["PUT", "/api/users/hostile-left", "OWN"],
                ["PUT", "/api/permissions/%2F/hostile-left", "OWN"],
                ["PUT", "/api/vhosts/hostile-left", "OWN"],
                ["PUT", "/api/policies/%2F/hostile-left", "OWN"],
                ["DELETE", "/api/vhosts/%2F", "OWN"],
                ["DELETE", "/api/users/burst", "OWN"]
            ]),
        ),
        methods(
            "queues of others, by name",
            &json!([
                {"method": "delete", "queue": "burst:NEIGHBOUR:pack:0"},
                {"method": "delete", "queue": "burst:NEIGHBOUR:control:0"},
                {"method": "publish", "exchange": "", "queue": "burst:NEIGHBOUR:pack:0", "bytes": 100},
                {"method": "publish", "exchange": "", "queue": "burst:NEIGHBOUR:control:1", "bytes": 100}
            ]),
        ),
        methods(
            "more queues than it may have",
            &json!([{"method": "declare", "queue": "left-NUMBER", "times": 30}]),
        )
        .expect_result("amqp", |result| {
            result.to_string().contains("PRECONDITION_FAILED")
        }),
        methods(
            "a queue and an exchange for ever",
            &json!([declare, {"method": "exchange", "exchange": "left"},
                {"method": "publish", "exchange": "", "queue": "left", "bytes": 1000}]),
        )
        .expect_result("amqp", |result| result == &json!(["ok", "sent"])),
        methods(
            "fifty megabytes in its queue",
            &json!([declare, {"method": "publish", "exchange": "", "queue": "left", "bytes": 1 << 20, "times": 50}]),
        ),
        methods(
            "twenty megabytes that are never read",
            &json!([declare, {"method": "consume", "queue": "left"},
                {"method": "publish", "exchange": "", "queue": "left", "bytes": 1 << 20, "times": 20}]),
        ),
        methods(
            "a message that is announced and not sent",
            &json!([declare, {"method": "publish", "exchange": "", "queue": "left", "bytes": 10,
                "announced": 1_u64 << 62}]),
        ),
        two_pack_script(
            "all the channels there are",
            &json!({"do": "amqp", "methods": [{"method": "channels"}], "millis": 300}),
        ),
        two_pack_script(
            "a hundred connections to the queues",
            &json!({"do": "amqp", "connections": 100, "methods": [], "millis": 300}),
        )
        // Each pack can have eight.
        .expect_result("amqp", |result| result.to_string().contains("NOT_ALLOWED")),
        noise("noise at the queues", "\u{ff}\u{0}noise\r\n", 10_000, 50),
        noise(
            "a frame of four gigabytes for the queues",
            "AMQP\u{0}\u{0}\u{9}\u{1}\u{1}\u{0}\u{0}\u{ff}\u{ff}\u{ff}\u{ff}",
            1,
            50,
        ),
        noise("half a greeting on each of many connections", "AMQ", 1, 200),
    ]
}

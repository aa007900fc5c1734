//! S3, on which a flare has no account: its requests are signed outside, where the platform's
//! account is.

use serde_json::{Value, json};

use super::script::Script;
use super::servers::{all, forbidden, two_pack_script};

/// Requests, each a method and an object, none of which may be signed.
fn unsigned(name: &'static str, questions: &Value) -> Script {
    two_pack_script(name, &json!({"do": "sign", "questions": questions}))
        .expect_result("sign", |result| {
            all(result, |answer| answer.starts_with('-'))
        })
}

/// A signature for one object, misused for something else.
fn misused(name: &'static str, step: &Value) -> Script {
    let mut step = step.clone();
    step["do"] = json!("object");
    step["name"] = json!("burst/FLARE/left");
    two_pack_script(name, &step).expect_result("object", |result| result == 403)
}

/// The scripts for a service at this address, with the platform's bucket.
pub fn scripts(address: &str, bucket: &str) -> Vec<Script> {
    let bucket = format!("/{bucket}");
    let noise = |name, text: &str, times: u32, connections: u32| {
        let step = json!({"do": "backend-noise", "to": address, "text": text, "times": times,
            "connections": connections});
        two_pack_script(name, &step)
    };
    let asked = |name, requests: Value, headers: &str| {
        let step = json!({"do": "http", "to": address, "requests": requests, "headers": headers});
        two_pack_script(name, &step).expect_result("http", forbidden)
    };
    let object = |name, step: Value| {
        let mut step = step;
        step["do"] = json!("object");
        two_pack_script(name, &step)
    };
    vec![
        unsigned(
            "objects of others",
            &json!([
                ["GET", "burst/NEIGHBOUR/joined/0"],
                ["PUT", "burst/NEIGHBOUR/joined/0"],
                ["DELETE", "burst/NEIGHBOUR/joined/0"],
                ["PUT", "burst/NEIGHBOUR/log/0/1/0"],
                ["GET", "burst/FLARE/../NEIGHBOUR/joined/0"],
                ["GET", "burst/FLARE/%2e%2e/NEIGHBOUR/joined/0"],
                ["PUT", "burst/FLARE"],
                ["PUT", "burst"],
                ["PUT", ""]
            ]),
        ),
        unsigned(
            "methods that are not for flares",
            &json!([
                ["POST", "burst/FLARE/x"],
                ["HEAD", "burst/FLARE/x"],
                ["LIST", "burst/FLARE/x"],
                ["PUT\nx", "burst/FLARE/x"]
            ]),
        ),
        two_pack_script("the signers of others", &json!({"do": "others-signers"}))
            // In a container no other signer exists.
            .expect_result("others-signers", |result| {
                result == &json!([]) || all(result, |answer| !answer.is_empty())
            }),
        two_pack_script(
            "a signature after the end",
            &json!({"do": "sign", "questions": []}),
        )
        .after_flare(json!([{"do": "sign", "questions": [["PUT", "burst/FLARE/left"]]}])),
        two_pack_script(
            "noise at the signer",
            &json!({"do": "signer-noise", "text": "\u{ff}\n", "times": 5000, "connections": 100}),
        ),
        two_pack_script(
            "two hundred who ask the signer nothing",
            &json!({"do": "signer-noise", "connections": 200, "millis": 500}),
        ),
        asked(
            "the bucket without a name",
            json!([
                ["GET", bucket],
                ["GET", format!("{bucket}?list-type=2")],
                ["DELETE", bucket],
                ["PUT", format!("{bucket}/hostile-left")],
                ["PUT", "/hostile-left"],
                ["GET", "/"]
            ]),
            "",
        ),
        asked(
            "the bucket with somebody else's name",
            json!([
                ["GET", bucket],
                ["PUT", format!("{bucket}/hostile-left")],
                ["DELETE", bucket]
            ]),
            "x-amz-date: 20260101T000000Z\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, \
             Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n",
        ),
        misused(
            "a signature for another object",
            &json!({"instead": ["FLARE", "NEIGHBOUR"]}),
        ),
        misused(
            "a signature for another method",
            &json!({"method": "DELETE"}),
        ),
        misused(
            "a signature for longer",
            &json!({"instead": ["X-Amz-Expires=60", "X-Amz-Expires=604800"]}),
        ),
        object(
            "a hundred objects for ever",
            json!({"name": "burst/FLARE/left/NUMBER", "times": 100, "bytes": 1000}),
        )
        .expect_result("object", |result| result == 200),
        object(
            "fifty megabytes of its own objects",
            json!({"name": "burst/FLARE/left/NUMBER", "times": 50, "bytes": 1 << 20}),
        )
        .expect_result("object", |result| result == 200),
        object(
            "objects that are announced and not sent",
            json!({"name": "burst/FLARE/left/NUMBER", "times": 50, "bytes": 10, "announced": 1_u64 << 40,
                "millis": 300}),
        ),
        noise("noise at the bucket", "\u{ff}\u{0}noise\r\n", 10_000, 50),
        noise(
            "half a request on each of many connections",
            "PUT /x HTTP/1.1\r\nHost: x\r\nX: ",
            1,
            200,
        ),
    ]
}

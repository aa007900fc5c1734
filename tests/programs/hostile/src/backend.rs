//! Requests to the server that carries the flare's messages, whatever its kind.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::backend_address::{ANSWER, BackendAddress, open, unescaped};
use crate::control;
use crate::player::{Player, Step, number, word};

pub const STEPS: &[(&str, Step)] = &[
    ("backend-address", |player, _| {
        Ok(player.flare["backend"]["uri"].clone())
    }),
    ("backend-noise", noise),
    ("http", http),
];

/// Opens connections to the server and sends nonsense. For a bucket the flare gets no address, so the step gives one.
fn noise(player: &mut Player, step: &Value) -> io::Result<Value> {
    let host = match word(step, "to") {
        "" => BackendAddress::of(player)?.host,
        address => address.to_owned(),
    };
    let text = control::bytes(&step["text"]);
    let until = Instant::now() + Duration::from_secs(1);
    let mut open_ones = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        let Ok(mut stream) = open(&host) else { break };
        let _ = stream.write_all(&text.repeat(number(step, "times", 1) as usize));
        open_ones.push(stream);
        if Instant::now() > until {
            break;
        }
    }
    Ok(json!(open_ones.len()))
}

/// Sends requests to an address, each a method, a path and optionally a user with password (`OWN` for the flare's);
/// returns the status of each answer, 0 if there is none.
fn http(player: &mut Player, step: &Value) -> io::Result<Value> {
    let mut answers = Vec::new();
    for request in step["requests"].as_array().into_iter().flatten() {
        let text = |index: usize| request[index].as_str().unwrap_or_default();
        let login = match text(2) {
            "" => String::new(),
            "OWN" => {
                let address = BackendAddress::of(player)?;
                basic(&format!(
                    "{}:{}",
                    unescaped(&address.user),
                    address.password
                ))
            }
            login => basic(login),
        };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n{login}{}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}",
            text(0),
            player.named(text(1)),
            word(step, "to"),
            word(step, "headers"),
        );
        answers.push(status(word(step, "to"), head.as_bytes()));
    }
    Ok(json!(answers))
}

fn basic(login: &str) -> String {
    format!("Authorization: Basic {}\r\n", STANDARD.encode(login))
}

/// Returns the status of the answer to a request.
pub fn status(address: &str, request: &[u8]) -> u16 {
    let mut answer = [0; 64];
    let read = open(address).and_then(|mut stream| {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        stream.write_all(request)?;
        stream.read(&mut answer)
    });
    let text = String::from_utf8_lossy(&answer[..read.unwrap_or(0)]).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or(0)
}

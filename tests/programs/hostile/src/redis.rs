//! Commands to Redis.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::backend_address::{ANSWER, BackendAddress};
use crate::player::{Player, Step, number, pause};

pub const STEPS: &[(&str, Step)] = &[("redis", redis)];

/// Sends commands on each of several connections, logged in as the flare's user unless anonymous; returns the first
/// line of each answer on the last one.
fn redis(player: &mut Player, step: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let mut open_ones = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        let mut stream = address.open()?;
        stream.set_read_timeout(Some(ANSWER))?;
        if step["anonymous"] != true {
            let login = json!(["AUTH", address.user, address.password]);
            let _ = ask(&mut stream, &command(player, &login));
        }
        answers.clear();
        for words in step["commands"].as_array().into_iter().flatten() {
            answers.push(ask(&mut stream, &command(player, words)));
        }
        open_ones.push(stream);
    }
    pause(step, 0);
    Ok(json!(answers))
}

/// Encodes a command for Redis; `MEGABYTE` stands for a word of that length.
fn command(player: &Player, words: &Value) -> Vec<u8> {
    let words: Vec<String> = (words.as_array().into_iter().flatten())
        .map(|word| match word.as_str() {
            Some("MEGABYTE") => "x".repeat(1 << 20),
            Some(word) => player.named(word),
            None => word.to_string(),
        })
        .collect();
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        command.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
    }
    command
}

/// Returns the answer's first line, or nothing if the server closes the connection.
fn ask(stream: &mut TcpStream, command: &[u8]) -> String {
    let mut answer = vec![0; 4096];
    let read = (stream.write_all(command)).and_then(|()| stream.read(&mut answer));
    let text = String::from_utf8_lossy(&answer[..read.unwrap_or(0)]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

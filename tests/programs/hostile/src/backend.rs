//! What can be said to the server that carries the flare's messages.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::control;
use crate::player::{Player, Step, number, word};

pub const STEPS: &[(&str, Step)] = &[
    ("backend-address", |player, _| {
        Ok(player.flare["backend"]["uri"].clone())
    }),
    ("redis", redis),
    ("backend-noise", noise),
];

const PATIENCE: Duration = Duration::from_millis(300);

/// Who may log in where.
struct Place {
    user: String,
    password: String,
    host: String,
}

fn place(player: &Player) -> io::Result<Place> {
    let wrong = || io::Error::other("no address of a backend");
    let uri = player.flare["backend"]["uri"].as_str().ok_or_else(wrong)?;
    let (_, rest) = uri.split_once("://").ok_or_else(wrong)?;
    let (account, host) = rest.rsplit_once('@').ok_or_else(wrong)?;
    let (user, password) = account.split_once(':').ok_or_else(wrong)?;
    let host = host.split(['/', '?']).next().unwrap_or_default();
    Ok(Place {
        user: user.to_owned(),
        password: password.to_owned(),
        host: host.to_owned(),
    })
}

fn open(place: &Place) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(&place.host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A command as Redis reads it; `FLARE` in a word is the flare's id, and `MEGABYTE` a word of that length.
fn command(player: &Player, words: &Value) -> Vec<u8> {
    let flare = word(&player.flare, "flareId");
    let words: Vec<String> = words
        .as_array()
        .into_iter()
        .flatten()
        .map(|word| {
            let word = word
                .as_str()
                .map_or_else(|| word.to_string(), str::to_owned);
            match &*word {
                "MEGABYTE" => "x".repeat(1 << 20),
                word => word.replace("FLARE", flare),
            }
        })
        .collect();
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        command.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
    }
    command
}

/// Commands on each of so many connections, logged in as the flare's user unless it is to be somebody else; the first
/// line of each answer on the last one.
fn redis(player: &mut Player, step: &Value) -> io::Result<Value> {
    let place = place(player)?;
    let mut open_ones = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        let mut stream = open(&place)?;
        if step["anonymous"] != true {
            let login = json!(["AUTH", place.user, place.password]);
            let _ = ask(&mut stream, &command(player, &login));
        }
        answers.clear();
        for words in step["commands"].as_array().into_iter().flatten() {
            answers.push(ask(&mut stream, &command(player, words)));
        }
        open_ones.push(stream);
    }
    crate::player::pause(step, 0);
    Ok(json!(answers))
}

/// The answer's first line, or nothing where none comes.
fn ask(stream: &mut TcpStream, command: &[u8]) -> String {
    let mut answer = vec![0; 4096];
    let read = (stream.write_all(command)).and_then(|()| stream.read(&mut answer));
    let text = String::from_utf8_lossy(&answer[..read.unwrap_or(0)]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Connections to the server that say what nobody understands.
fn noise(player: &mut Player, step: &Value) -> io::Result<Value> {
    let place = place(player)?;
    let text = control::bytes(&step["text"]);
    let until = Instant::now() + Duration::from_secs(1);
    let mut open_ones = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        let Ok(mut stream) = open(&place) else { break };
        let _ = stream.write_all(&text.repeat(number(step, "times", 1) as usize));
        open_ones.push(stream);
        if Instant::now() > until {
            break;
        }
    }
    Ok(json!(open_ones.len()))
}

//! Frames sent to the runtime, and output on the standard streams.

use std::io::{self, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::control;
use crate::player::{Player, Step, number, pause, word};
use crate::system;

pub const STEPS: &[(&str, Step)] = &[
    ("begin", begin),
    ("end", end),
    ("say", say),
    ("send", send),
    ("trickle", trickle),
    ("nested", nested),
    ("long", long),
    ("print", print),
    ("close", close),
    ("sleep", sleep),
    ("hang", |_, _| system::sleep_for_ever()),
    ("loop", |_, _| system::spin()),
    ("exit", |_, step| system::exit(number(step, "code", 0))),
];

/// Begins like every program: it is ready, waits for the others, and starts its workers.
fn begin(player: &mut Player, _: &Value) -> io::Result<Value> {
    let packs = player.flare["packSizes"].as_array().map_or(1, Vec::len);
    let mut endpoint = Value::Null;
    if packs > 1 {
        let host = word(&player.flare, "advertise");
        let listener = TcpListener::bind("0.0.0.0:0")?;
        endpoint = match host.starts_with("unix:") {
            // The pack's own socket, in a sandbox.
            true => json!(host),
            false => json!(format!("{host}:{}", listener.local_addr()?.port())),
        };
        player.listener = Some(listener);
    }
    (player.control).say(&json!({"event": "ready", "endpoint": endpoint}))?;
    while player.flare["autostart"] != true {
        let command = player.control.read()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match command["command"].as_str() {
            Some("start") => {
                let endpoints = command["endpoints"].as_array().into_iter().flatten();
                let known = endpoints.map(|at| at.as_str().unwrap_or_default().to_owned());
                player.endpoints = known.collect();
                break;
            }
            Some("abort") => break,
            _ => {}
        }
    }
    for worker in player.workers() {
        (player.control).say(&json!({"event": "worker-started", "worker": worker}))?;
    }
    Ok(Value::Null)
}

/// Ends like every program: each worker returns the noted outcomes, or the step's output, and the pack ends.
fn end(player: &mut Player, step: &Value) -> io::Result<Value> {
    let noted = json!({"flare": player.flare["flareId"], "noted": player.noted});
    let output = step.get("output").unwrap_or(&noted);
    for worker in player.workers() {
        let event = json!({"event": "worker-succeeded", "worker": worker, "output": output});
        player.control.say(&event)?;
    }
    let ended = json!({"event": "pack-ended", "reusable": true, "error": null});
    player.control.say(&ended)?;
    Ok(Value::Null)
}

/// Sends a frame, once or many times.
fn say(player: &mut Player, step: &Value) -> io::Result<Value> {
    let frame = player.control.text(&step["frame"]);
    player.control.repeat(&frame, number(step, "times", 1))?;
    Ok(Value::Null)
}

/// Sends the header of a frame with the stated length, and then this many bytes of it.
fn send(player: &mut Player, step: &Value) -> io::Result<Value> {
    let length = number(step, "length", 0) as u32;
    player.control.send(&length.to_le_bytes())?;
    let sent = number(step, "sent", 0) as usize;
    player.control.send(&vec![b' '; sent])?;
    Ok(Value::Null)
}

/// Sends a frame byte by byte.
fn trickle(player: &mut Player, step: &Value) -> io::Result<Value> {
    let text = player.control.text(&step["frame"]);
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text);
    for byte in bytes {
        player.control.send(&[byte])?;
        std::thread::sleep(Duration::from_millis(number(step, "millis", 1)));
    }
    Ok(Value::Null)
}

/// Sends a frame with this many nested lists in place of `$` in its text.
fn nested(player: &mut Player, step: &Value) -> io::Result<Value> {
    let levels = number(step, "levels", 1000) as usize;
    let within = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    around(player, step, &within)
}

/// Sends a frame with this many bytes of a letter in place of `$` in its text.
fn long(player: &mut Player, step: &Value) -> io::Result<Value> {
    let letter = match word(step, "letter") {
        "" => "x",
        letter => letter,
    };
    let within = letter.repeat(number(step, "bytes", 1) as usize / letter.len());
    around(player, step, &within)
}

fn around(player: &mut Player, step: &Value, within: &str) -> io::Result<Value> {
    let frame = player.control.text(&step["frame"]);
    let at = frame.iter().position(|letter| *letter == b'$');
    let (before, after) = frame.split_at(at.unwrap_or(frame.len()));
    let after = after.get(1..).unwrap_or_default();
    let frame = [before, within.as_bytes(), after].concat();
    player.control.repeat(&frame, 1)?;
    Ok(Value::Null)
}

/// Writes a text to the standard output or the standard error, this many times.
fn print(_: &mut Player, step: &Value) -> io::Result<Value> {
    let text = control::bytes(&step["text"]);
    let mut left = number(step, "times", 1);
    let at_once = (64 * 1024 / text.len().max(1)).max(1) as u64;
    let block = text.repeat(at_once as usize);
    while left > 0 {
        let count = left.min(at_once);
        let part = &block[..count as usize * text.len()];
        match word(step, "to") {
            "stderr" => io::stderr().write_all(part)?,
            _ => {
                io::stdout().write_all(part)?;
                io::stdout().flush()?;
            }
        }
        left -= count;
    }
    Ok(Value::Null)
}

fn close(_: &mut Player, step: &Value) -> io::Result<Value> {
    for descriptor in step["descriptors"].as_array().into_iter().flatten() {
        let descriptor = descriptor.as_u64().unwrap_or_default() as usize;
        system::call(libc::SYS_close, &[descriptor])?;
    }
    Ok(Value::Null)
}

fn sleep(_: &mut Player, step: &Value) -> io::Result<Value> {
    pause(step, 100);
    Ok(Value::Null)
}

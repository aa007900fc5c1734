//! A program that plays the script in its input: frames to the runtime, and system calls. It does not use the SDK, so
//! nothing but the runtime and the kernel restrains it.
//!
//! Its input is `{"steps": [{"do": NAME, …}], "neighbour": ["host:port"], "neighbourFlare": ID, "host":
//! ["host:port"]}`; the steps are implemented in modules by subject. If a step is refused, the kind of its error is
//! noted, and the next one is played all the same. Steps in a file `before.json` of the package are played before the
//! program sends its hello.

mod amqp;
mod backend;
mod backend_address;
mod control;
mod files;
mod frames;
mod kernel;
mod look;
mod memory;
mod network;
mod objects;
mod player;
mod processes;
mod redis;
mod system;

use std::fs;
use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::control::Control;
use crate::player::{Player, Steps};

const STEPS: Steps = &[
    frames::STEPS,
    processes::STEPS,
    memory::STEPS,
    kernel::STEPS,
    files::STEPS,
    network::STEPS,
    backend::STEPS,
    redis::STEPS,
    amqp::STEPS,
    objects::STEPS,
    look::STEPS,
];
const BEFORE: &str = "before.json";

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let mut player = Player::new(STEPS, Control::inherited());
    if let Ok(before) = fs::read(BEFORE) {
        player.play(&serde_json::from_slice::<Value>(&before)?);
    }
    player
        .control
        .say(&json!({"event": "hello", "sdk": "none"}))?;
    while let Some(command) = player.control.read()? {
        if command["command"] == "run" {
            player.run(command);
        }
    }
    Ok(())
}

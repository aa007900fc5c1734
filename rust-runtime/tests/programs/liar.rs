//! A program that is not built with the SDK: it sends to the runtime whatever the flare's input prescribes.
//!
//! The input is a list of steps: `{"say":EVENT}` sends an event, with the run number unless it has a `run` of its own
//! (null for no number), `times` times if given; `{"outputs":[WORKERS,BYTES]}` reports that workers begin and succeed
//! with strings of this length; `"await"` waits for the next command; `"stay"` waits forever.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use burst_protocol::{Command, frame};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Say(Value),
    Times(u32, Value),
    Outputs(u32, usize),
    Await,
    Stay,
}

struct Socket(ManuallyDrop<File>);

impl Socket {
    fn say(&mut self, event: &Value) {
        let event = event.to_string();
        let message = [&frame::header(event.len()), event.as_bytes()].concat();
        self.0.write_all(&message).unwrap();
    }

    /// Returns the next command. Exits when the runtime has exited.
    fn command(&mut self) -> Command {
        let Ok(Some(message)) = frame::read(&mut *self.0, frame::COMMAND_LIMIT) else {
            std::process::exit(0);
        };
        Command::parse(&message).unwrap()
    }
}

#[allow(clippy::exit)]
fn main() {
    // SAFETY: the runtime has opened descriptor 3 for this program, which never closes it.
    let mut socket = Socket(ManuallyDrop::new(unsafe { File::from_raw_fd(3) }));
    socket.say(&json!({"event": "hello", "sdk": "none"}));
    let mut runs = Vec::new();
    loop {
        let Command::Run { run, pack } = socket.command() else {
            continue;
        };
        runs.push(run);
        let steps: Vec<Step> = serde_json::from_str(pack.inputs.of(0).unwrap().get()).unwrap();
        for step in steps {
            let (times, mut event) = match step {
                Step::Say(event) => (1, event),
                Step::Times(times, event) => (times, event),
                Step::Outputs(workers, bytes) => {
                    let output = "x".repeat(bytes);
                    for worker in 0..workers {
                        let started = "worker-started";
                        socket
                            .say(&json!({"event": started, "run": run, "worker": worker, "at": 1}));
                        socket.say(
                            &json!({"event": "worker-succeeded", "run": run, "worker": worker,
                            "output": output, "at": 1}),
                        );
                    }
                    continue;
                }
                Step::Await => {
                    socket.command();
                    continue;
                }
                Step::Stay => loop {
                    std::thread::park();
                },
            };
            if let Some(fields) = event.as_object_mut() {
                match fields.get("run") {
                    None => _ = fields.insert("run".to_owned(), json!(run)),
                    Some(Value::Null) => _ = fields.remove("run"),
                    Some(Value::String(which)) if which == "last" => {
                        fields.insert("run".to_owned(), json!(runs[runs.len() - 2]));
                    }
                    Some(_) => {}
                }
            }
            (0..times).for_each(|_| socket.say(&event));
        }
    }
}

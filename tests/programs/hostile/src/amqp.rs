//! Methods for RabbitMQ, written in wire format, so that invalid ones can be sent, too.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::backend_address::{BackendAddress, unescaped};
use crate::player::{Player, Step, number, pause, word};

pub const STEPS: &[(&str, Step)] = &[("amqp", amqp)];

const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const END: u8 = 0xCE;
/// The smallest frame size that a server must accept; it announces more.
const FRAME: usize = 4096;
/// The server may take a second to refuse a name.
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECTION_CLOSE: &[u8] = &[0, 10, 0, 50];
const CHANNEL_CLOSE: &[u8] = &[0, 20, 0, 40];

/// A connection that is logged in.
struct Line {
    stream: TcpStream,
}

/// Sends methods on each of several connections, as the flare's user in its virtual host unless the step names another
/// `user` (with `password`) or `vhost`; returns the outcome of each on the last one: `ok`, the reason of the refusal,
/// or nothing.
fn amqp(player: &mut Player, step: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let given = |name: &str, own: &str| match step[name].as_str() {
        Some(given) => player.named(given),
        None => unescaped(own),
    };
    let user = given("user", &address.user);
    let password = given("password", &address.password);
    let vhost = given("vhost", &address.path);
    let mut open_ones = Vec::new();
    let mut results = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        results.clear();
        match Line::open(&address, (&user, &password), &vhost) {
            Err(refused) => {
                results.push(refused);
                break;
            }
            Ok(mut line) => {
                results.push("ok".to_owned());
                for method in step["methods"].as_array().into_iter().flatten() {
                    for number in 0..method["times"].as_u64().unwrap_or(1) {
                        results.push(line.play(player, method, number));
                    }
                }
                open_ones.push(line);
            }
        }
    }
    pause(step, 0);
    results.dedup();
    Ok(json!(results))
}

impl Line {
    /// Logs in, enters the virtual host and opens a channel.
    fn open(address: &BackendAddress, login: (&str, &str), vhost: &str) -> Result<Self, String> {
        let stream = address.open().map_err(|error| error.to_string())?;
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let mut line = Self { stream };
        let at = |stage| move |why: String| format!("{stage}: {why}");
        line.write(b"AMQP\0\0\x09\x01");
        line.expect().map_err(at("greeting"))?;
        let response = format!("\0{}\0{}", login.0, login.1);
        let mut start_ok = long_text(b""); // properties
        start_ok.extend(short_text("PLAIN"));
        start_ok.extend(long_text(response.as_bytes()));
        start_ok.extend(short_text("en_US"));
        line.method(0, (10, 11), &start_ok);
        line.expect().map_err(at("login"))?;
        line.method(0, (10, 31), &[7, 255, 0, 2, 0, 0, 0, 0]);
        let mut open = short_text(vhost);
        open.extend([0, 0]);
        line.method(0, (10, 40), &open);
        line.expect().map_err(at("virtual host"))?;
        line.method(1, (20, 10), &[0]);
        line.expect().map_err(at("channel"))?;
        Ok(line)
    }

    fn play(&mut self, player: &Player, method: &Value, number: u64) -> String {
        let name = |field: &str| {
            let name = player.named(word(method, field));
            short_text(&name.replace("NUMBER", &number.to_string()))
        };
        let mut fields = vec![0, 0];
        match word(method, "method") {
            // Durable, and neither exclusive nor auto-deleted.
            "declare" => {
                fields.extend(name("queue"));
                fields.extend([2, 0, 0, 0, 0]);
                self.ask((50, 10), &fields)
            }
            "delete" => {
                fields.extend(name("queue"));
                fields.push(0);
                self.ask((50, 40), &fields)
            }
            "exchange" => {
                fields.extend(name("exchange"));
                fields.extend(short_text("fanout"));
                fields.extend([2, 0, 0, 0, 0]);
                self.ask((40, 10), &fields)
            }
            "get" => {
                fields.extend(name("queue"));
                fields.push(0);
                self.ask((60, 70), &fields)
            }
            // The messages are never read.
            "consume" => {
                fields.extend(name("queue"));
                fields.extend([0, 0, 0, 0, 0, 0]);
                self.ask((60, 20), &fields)
            }
            "publish" => {
                fields.extend(name("exchange"));
                fields.extend(name("queue"));
                fields.push(0);
                self.method(1, (60, 40), &fields);
                let bytes = method["bytes"].as_u64().unwrap_or(0);
                let announced = method["announced"].as_u64().unwrap_or(bytes);
                let mut header = vec![0, 60, 0, 0];
                header.extend(announced.to_be_bytes());
                // Persistent: it outlives the server.
                header.extend([0x10, 0, 2]);
                self.frame(HEADER, 1, &header);
                let body = vec![b'x'; FRAME - 8];
                let mut left = bytes as usize;
                while left > 0 {
                    let piece = left.min(body.len());
                    self.frame(BODY, 1, &body[..piece]);
                    left -= piece;
                }
                "sent".to_owned()
            }
            "channels" => {
                for channel in 2..2048 {
                    self.method(channel, (20, 10), &[0]);
                }
                "sent".to_owned()
            }
            other => format!("no method is called {other}"),
        }
    }

    fn ask(&mut self, id: (u16, u16), fields: &[u8]) -> String {
        self.method(1, id, fields);
        match self.expect() {
            Ok(()) => "ok".to_owned(),
            Err(refused) => {
                // The next method has a channel again, unless the connection has ended.
                self.method(1, (20, 41), &[]);
                self.method(1, (20, 10), &[0]);
                let _ = self.expect();
                refused
            }
        }
    }

    /// Waits for an answer that is not a refusal; the error is the server's reason, or empty if it gives none.
    fn expect(&mut self) -> Result<(), String> {
        let mut head = [0; 7];
        loop {
            self.read(&mut head)?;
            let length = u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize;
            let mut payload = vec![0; length + 1];
            self.read(&mut payload)?;
            if head[0] != METHOD || length < 4 {
                continue;
            }
            if ![CONNECTION_CLOSE, CHANNEL_CLOSE].contains(&&payload[..4]) {
                return Ok(());
            }
            // A number, and a short text preceded by its length.
            let text = payload.get(7..).unwrap_or_default();
            let text = &text[..text.len().min(usize::from(payload[6]))];
            return Err(String::from_utf8_lossy(text).into_owned());
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.stream.read_exact(bytes).map_err(|_| String::new())
    }

    fn method(&mut self, channel: u16, id: (u16, u16), fields: &[u8]) {
        let mut payload = id.0.to_be_bytes().to_vec();
        payload.extend(id.1.to_be_bytes());
        payload.extend_from_slice(fields);
        self.frame(METHOD, channel, &payload);
    }

    fn frame(&mut self, kind: u8, channel: u16, payload: &[u8]) {
        let mut frame = vec![kind];
        frame.extend(channel.to_be_bytes());
        frame.extend((payload.len() as u32).to_be_bytes());
        frame.extend_from_slice(payload);
        frame.push(END);
        self.write(&frame);
    }

    /// Errors are ignored: they show in the answer.
    fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }
}

fn short_text(text: &str) -> Vec<u8> {
    let mut bytes = vec![text.len().min(255) as u8];
    bytes.extend(text.bytes().take(255));
    bytes
}

fn long_text(text: &[u8]) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(text);
    bytes
}

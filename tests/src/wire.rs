//! Hand-written HTTP, for requests that no well-behaved client makes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{Answer, Api};

const ANSWER_LIMIT: Duration = Duration::from_secs(60);
const PIECE: usize = 64 * 1024;

/// An answer, and how much of the body the server had accepted by then.
#[derive(Debug)]
pub struct Interrupted {
    /// The answer.
    pub answer: Answer,
    /// Bytes of the body that had been sent when it arrived.
    pub sent: u64,
}

/// Announces a body of `length` bytes, sends only the first few, and reads the answer.
#[track_caller]
pub fn announce(api: &Api, method: &str, path: &str, length: u64) -> Interrupted {
    let mut stream = open(api, method, path, &format!("Content-Length: {length}"));
    let start = b"{\"exec\":{\"kind\":\"rust\",\"code\":\"";
    stream.write_all(start).unwrap();
    let answers = listen(&stream);
    let answer = answers.recv().unwrap().unwrap_or_else(|| {
        panic!("no answer within {ANSWER_LIMIT:?} to an announced body of {length} bytes")
    });
    Interrupted {
        answer,
        sent: start.len() as u64,
    }
}

/// Sends a chunked body until the server answers or `enough` bytes are out.
#[track_caller]
pub fn pour(api: &Api, method: &str, path: &str, enough: u64) -> Interrupted {
    let mut stream = open(api, method, path, "Transfer-Encoding: chunked");
    let answers = listen(&stream);
    stream.set_write_timeout(Some(ANSWER_LIMIT)).unwrap();
    let mut piece = format!("{PIECE:x}\r\n").into_bytes();
    piece.resize(piece.len() + PIECE, b' ');
    piece.extend(b"\r\n");
    let mut sent = 0;
    while sent < enough {
        if let Ok(answer) = answers.try_recv() {
            return Interrupted {
                answer: answer.expect("an answer"),
                sent,
            };
        }
        // A server that has refused the request may close before everything is sent: the answer is
        // then on its way.
        if stream.write_all(&piece).is_err() {
            break;
        }
        sent += PIECE as u64;
    }
    let answer = answers.recv().unwrap();
    Interrupted {
        answer: answer.unwrap_or_else(|| panic!("no answer; {sent} bytes sent")),
        sent,
    }
}

/// Sends raw bytes and returns what comes back until the server closes or stays silent.
pub fn raw(api: &Api, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(api.address()).unwrap();
    stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
    stream.write_all(bytes).unwrap();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[track_caller]
fn open(api: &Api, method: &str, path: &str, framing: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api.address()).unwrap();
    stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
    let credentials = STANDARD.encode(api.auth());
    let head = format!(
        "{method} /api/v1/namespaces/_/{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic \
         {credentials}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n",
        api.address()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Reads the answer on a separate thread, while the body is still being sent.
fn listen(stream: &TcpStream) -> mpsc::Receiver<Option<Answer>> {
    let mut stream = stream.try_clone().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        let answer = loop {
            if let Some(answer) = parse(&bytes) {
                break Some(answer);
            }
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => bytes.extend(&buffer[..count]),
                _ => break None,
            }
        };
        let _ = sender.send(answer);
    });
    receiver
}

/// Parses an answer with a declared length, once it is complete; `100 Continue` is skipped.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    if status == 100 {
        return parse(body.as_bytes());
    }
    let length: usize = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    })?;
    let body = body.get(..length)?;
    let json = serde_json::from_str(body).unwrap_or(Value::Null);
    Some(Answer {
        status,
        json,
        text: body.to_owned(),
    })
}

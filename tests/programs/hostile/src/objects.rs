//! Requests to the service that stores the flare's objects, and to the signer of its requests.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use serde_json::{Value, json};

use crate::backend;
use crate::backend_address::{ANSWER, BackendAddress, open};
use crate::control;
use crate::player::{Player, Step, number, pause, word};

pub const STEPS: &[(&str, Step)] = &[
    ("sign", sign),
    ("others-signers", others_signers),
    ("signer-noise", signer_noise),
    ("object", object),
];

/// Requests signatures for objects, each a method and a name below the bucket's prefix; returns the outcome of each:
/// `signed`, or the reason of the refusal.
fn sign(player: &mut Player, step: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let mut results = Vec::new();
    for question in step["questions"].as_array().into_iter().flatten() {
        let text = |index: usize| question[index].as_str().unwrap_or_default();
        results.push(match signed(player, &address, text(0), text(1)) {
            Ok(_) => "signed".to_owned(),
            Err(refused) => refused,
        });
    }
    Ok(json!(results))
}

/// Sends a request to every socket of this machine with a name like a signer's, with the flare's own token.
fn others_signers(player: &mut Player, _: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let question = format!(
        "{}\nGET\n{}/burst/NEIGHBOUR/x",
        address.password, address.path
    );
    let question = player.named(&question);
    let own = signer(&address);
    let mut results = Vec::new();
    for line in fs::read_to_string("/proc/net/unix")?.lines() {
        let name = line
            .rsplit_once(" @")
            .map_or("", |(_, name)| name.trim_end_matches('@'));
        if name.len() == own.len() && name != own && !results.contains(&name.to_owned()) {
            results.push(ask(name, &question).err().unwrap_or_default());
        }
    }
    results.dedup();
    Ok(json!(results))
}

/// Connects to the flare's own signer, sends something, and stays connected for a while.
fn signer_noise(player: &mut Player, step: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let address = SocketAddr::from_abstract_name(signer(&address))?;
    let text = control::bytes(&step["text"]).repeat(number(step, "times", 1) as usize);
    let mut open_ones = Vec::new();
    for _ in 0..number(step, "connections", 1) {
        let stream = UnixStream::connect_addr(&address)?;
        stream.set_nonblocking(true)?;
        let _ = (&stream).write_all(&text);
        open_ones.push(stream);
    }
    pause(step, 0);
    Ok(json!(open_ones.len()))
}

/// Uses a signature for an object, this many times: with another `method`, or with one text in its path replaced by
/// another (`instead`), with a body of `bytes`, of which `announced` are declared as its length; returns the last
/// status.
fn object(player: &mut Player, step: &Value) -> io::Result<Value> {
    let address = BackendAddress::of(player)?;
    let mut status = 0;
    let mut open_ones = Vec::new();
    for number in 0..number(step, "times", 1) {
        let name = word(step, "name").replace("NUMBER", &number.to_string());
        let url = signed(player, &address, "PUT", &name).map_err(io::Error::other)?;
        let (_, rest) = url.split_once("://").ok_or(io::ErrorKind::InvalidData)?;
        let (host, path) = rest.split_once('/').ok_or(io::ErrorKind::InvalidData)?;
        let mut path = path.to_owned();
        if let (Some(from), Some(to)) = (step["instead"][0].as_str(), step["instead"][1].as_str()) {
            path = path.replace(&player.named(from), &player.named(to));
        }
        let body = vec![b'x'; crate::player::number(step, "bytes", 0) as usize];
        let announced = crate::player::number(step, "announced", body.len() as u64);
        let method = match word(step, "method") {
            "" => "PUT",
            method => method,
        };
        let mut request = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {announced}\r\n\r\n"
        )
        .into_bytes();
        request.extend(&body);
        if announced > body.len() as u64 {
            let stream: TcpStream = open(host)?;
            let _ = (&stream).write_all(&request);
            open_ones.push(stream);
        } else {
            status = backend::status(host, &request);
        }
    }
    pause(step, 0);
    Ok(json!(status))
}

/// Returns the URL, or the reason of the refusal.
fn signed(
    player: &Player,
    address: &BackendAddress,
    method: &str,
    name: &str,
) -> Result<String, String> {
    let name = player.named(name);
    let question = format!("{}\n{method}\n{}/{name}", address.password, address.path);
    ask(signer(address), &question)
}

fn signer(address: &BackendAddress) -> &str {
    address.options.trim_start_matches("signer=")
}

fn ask(signer: &str, question: &str) -> Result<String, String> {
    let mut answer = String::new();
    let read = SocketAddr::from_abstract_name(signer)
        .and_then(|address| UnixStream::connect_addr(&address))
        .and_then(|mut stream| {
            stream.set_read_timeout(Some(ANSWER))?;
            let _ = stream.write_all(question.as_bytes());
            stream.shutdown(std::net::Shutdown::Write)?;
            stream.read_to_string(&mut answer)
        });
    match (answer.strip_prefix('+'), read) {
        (Some(url), Ok(_)) => Ok(url.to_owned()),
        (_, Err(error)) => Err(error.to_string()),
        _ => Err(answer),
    }
}

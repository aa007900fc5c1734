//! The reference for Redis: its own `redis-benchmark`, with the library's commands and chunk size.
//!
//! The server executes one command at a time, so writes and reads share its time: the upper bound
//! is the rate of both one after the other.

use std::io::Write;
use std::process::{Command, Stdio};

/// The number of connections for writes and for reads, as many as one message uses.
const CLIENTS: &str = "2";

/// Returns GB/s through a list.
pub fn list(uri: &str, bytes: usize, chunk: usize) -> f64 {
    ceiling(
        uri,
        (bytes, chunk),
        &["RPUSH", "bench"],
        &["BLPOP", "bench", "1"],
        1,
    )
}

/// Returns GB/s through a stream. A read asks for eight entries at a time, which are always the
/// same ones.
pub fn stream(uri: &str, bytes: usize, chunk: usize) -> f64 {
    let read = ["XREAD", "COUNT", "8", "STREAMS", "bench", "0"];
    ceiling(uri, (bytes, chunk), &["XADD", "bench", "*", "f"], &read, 8)
}

fn ceiling(
    uri: &str,
    (bytes, chunk): (usize, usize),
    write: &[&str],
    read: &[&str],
    chunks_per_read: usize,
) -> f64 {
    let chunks = bytes.div_ceil(chunk);
    let written = seconds(uri, chunks, write, Some(chunk));
    let read = seconds(uri, chunks.div_ceil(chunks_per_read), read, None);
    let mut connection = redis::Client::open(uri).unwrap().get_connection().unwrap();
    let _: i64 = redis::cmd("DEL")
        .arg("bench")
        .query(&mut connection)
        .unwrap();
    (chunks * chunk) as f64 / 1e9 / (written + read)
}

/// Returns the seconds that this many commands take, with a last argument of `last` bytes, if
/// given.
fn seconds(uri: &str, commands: usize, command: &[&str], last: Option<usize>) -> f64 {
    let (password, address) = uri
        .strip_prefix("redis://:")
        .and_then(|rest| rest.split_once('@'))
        .unwrap();
    let port = address.split([':', '/']).nth(1).unwrap();
    let mut child = Command::new("redis-benchmark")
        .args(["-h", "127.0.0.1", "-p", port, "-a", password, "--csv"])
        .args(["-n", &commands.to_string(), "-c", CLIENTS])
        .args(last.map(|_| "-x"))
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-benchmark is needed: install redis-tools");
    let mut input = child.stdin.take().unwrap();
    input.write_all(&vec![b'x'; last.unwrap_or(0)]).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut table = csv::Reader::from_reader(&*output.stdout);
    let row = table.records().next().unwrap().unwrap();
    let per_second: f64 = row[1].parse().unwrap();
    commands as f64 / per_second
}

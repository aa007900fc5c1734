//! Anyone can reach a runtime's port, but only clients with its token can make it do work.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::support::{Runtime, act, acts, end};
use serde_json::json;

const CROWD: usize = 2000;

/// Raises this process's soft limit on open descriptors to the hard limit.
fn many_descriptors() {
    // SAFETY: `rlimit` is plain data, which the calls fill and read.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

/// Returns the resident memory of a process, in KiB.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

/// Sends as much as the socket accepts.
fn push(stream: &mut TcpStream, mut bytes: &[u8]) {
    while let Ok(sent @ 1..) = stream.write(bytes) {
        bytes = &bytes[sent..];
    }
}

#[test]
fn many_unfinished_headers_take_no_memory_and_keep_nobody_out() {
    many_descriptors();
    let mut runtime = Runtime::with_token();
    runtime.init_with(acts());
    let before = resident(runtime.id());
    let mut header = b"POST /packs HTTP/1.1\r\nX: ".to_vec();
    header.resize(390_000, b'x');
    let mut crowd: Vec<_> = (0..CROWD).map(|_| runtime.connect()).collect();
    for stranger in &mut crowd {
        stranger.set_nonblocking(true).unwrap();
    }
    // Bytes that the runtime has read in one round make room for the next.
    for _ in 0..4 {
        crowd
            .iter_mut()
            .for_each(|stranger| push(stranger, &header));
        assert_eq!(runtime.get("/ping").0, 200);
    }
    let taken = resident(runtime.id()).saturating_sub(before);
    assert!(taken < 24 * 1024, "{taken} KiB");
    let events = runtime.act(&[act("sum"), act("sum")]);
    assert_eq!(end(&events)["error"], json!(null));
    drop(crowd);
}

#[test]
fn an_unfinished_header_is_not_waited_for() {
    let runtime = Runtime::with_token();
    let mut stranger = runtime.connect();
    stranger
        .write_all(b"POST /packs HTTP/1.1\r\nHost: x\r\n")
        .unwrap();
    assert_eq!(stranger.read(&mut [0; 100]).unwrap(), 0);
}

#[test]
fn the_body_of_an_unauthenticated_call_is_not_read() {
    let runtime = Runtime::with_token();
    let mut stranger = runtime.connect();
    let head = "POST /init HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n";
    stranger.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    // No byte of the body was sent: the response does not wait for it, and the connection is
    // closed.
    stranger.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[test]
fn a_header_that_is_too_large_is_refused() {
    let runtime = Runtime::start();
    let mut stranger = runtime.connect();
    stranger
        .set_write_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let head = format!("GET /ping HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    // The request is rejected before all of it has been read.
    let _ = stranger.write_all(head.as_bytes());
    let _ = stranger.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stranger.read_to_end(&mut answer) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        Ok(_) => assert!(!answer.starts_with(b"HTTP/1.1 200 ")),
    }
}

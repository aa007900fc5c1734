//! Which frames leave, in what order, and who waits for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

fn pair() -> (Arc<ControlSocket>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    (Arc::new(ControlSocket::new(ours.into())), theirs)
}

fn frame(socket: &mut UnixStream) -> serde_json::Value {
    let message = frame::read(socket, frame::EVENT_LIMIT).unwrap().unwrap();
    serde_json::from_slice(&message).unwrap()
}

#[test]
fn a_log_line_is_escaped_and_never_invalid_utf8() {
    let (control, mut socket) = pair();
    control.log(
        3,
        LogStream::Stderr,
        b"a\"b\\c\td\x01\xff \xe2\x82\xac",
        Timestamp::from_micros(17),
    );
    let event = frame(&mut socket);
    assert_eq!(event["worker"], 3);
    assert_eq!(event["stream"], "stderr");
    assert_eq!(event["text"], "a\"b\\c\td\u{1}\u{fffd} €");
    assert_eq!(event["at"], 17);
}

#[test]
fn the_longest_worst_line_fits_its_reservation() {
    let (control, mut socket) = pair();
    control.log(
        u32::MAX,
        LogStream::Stdout,
        &[1; LINE + 1],
        Timestamp::from_micros(u64::MAX),
    );
    let line = frame(&mut socket)["text"].as_str().unwrap().len();
    assert_eq!(line, LINE);
    assert_eq!(control.lock().spare.capacity(), BUFFER);
    assert_eq!(control.lock().waiting.capacity(), BUFFER);
}

#[test]
fn held_frames_are_sent_when_the_last_cork_is_dropped() {
    let (control, mut socket) = pair();
    let (first, second) = (control.cork(), control.cork());
    control.send(b"1");
    control.send(b"2");
    drop(first);
    socket.set_nonblocking(true).unwrap();
    assert_eq!(
        socket.read(&mut [0]).unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    socket.set_nonblocking(false).unwrap();
    drop(second);
    assert_eq!(frame(&mut socket), 1);
    assert_eq!(frame(&mut socket), 2);
}

#[test]
fn uncork_sends_held_frames_at_once() {
    let (control, mut socket) = pair();
    let _cork = control.cork();
    control.send(b"1");
    control.uncork();
    assert_eq!(frame(&mut socket), 1);
}

#[test]
fn a_forked_process_does_not_send_its_parents_held_frames() {
    let (control, mut socket) = pair();
    let cork = control.cork();
    control.send(b"1");
    // SAFETY: the child only sends, for which it allocates nothing, and no other thread uses this socket.
    let child = unsafe { libc::fork() };
    if child == 0 {
        control.send(b"2");
        // SAFETY: ends the process immediately.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: waits for a child of this process, and asks for no status.
    let waited = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!(waited, child);
    assert_eq!(frame(&mut socket), 2);
    drop(cork);
    assert_eq!(frame(&mut socket), 1);
}

#[test]
fn delayed_frames_are_sent_with_the_next_frame_or_alone() {
    let (control, mut socket) = pair();
    control.send_later(b"1");
    socket.set_nonblocking(true).unwrap();
    assert_eq!(
        socket.read(&mut [0]).unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    socket.set_nonblocking(false).unwrap();
    control.send(b"2");
    assert_eq!(frame(&mut socket), 1);
    assert_eq!(frame(&mut socket), 2);
    let _detached = thread::spawn({
        let control = Arc::clone(&control);
        move || control.run_delayed_sends()
    });
    for number in 3..6 {
        control.send_later(number.to_string().as_bytes());
        assert_eq!(frame(&mut socket), number);
    }
}

#[test]
fn each_threads_frames_stay_in_order() {
    let (control, mut socket) = pair();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let control = Arc::clone(&control);
            thread::spawn(move || {
                for count in 0..200 {
                    let padding = if count % 50 == 0 { 200 * 1024 } else { 100 };
                    let body = serde_json::json!([writer, count, "x".repeat(padding)]);
                    control.send(body.to_string().as_bytes());
                }
            })
        })
        .collect();
    let mut next = [0; 8];
    for _ in 0..8 * 200 {
        let event = frame(&mut socket);
        let writer = event[0].as_u64().unwrap() as usize;
        assert_eq!(event[1], next[writer]);
        next[writer] += 1;
    }
    writers
        .into_iter()
        .for_each(|writer| writer.join().unwrap());
}

#[test]
fn a_closed_socket_drops_frames_and_blocks_nobody() {
    let (control, socket) = pair();
    drop(socket);
    for _ in 0..10_000 {
        control.log(
            0,
            LogStream::Stdout,
            &[b'x'; 1000],
            Timestamp::from_micros(0),
        );
    }
    control.send_at_exit(b"frame");
}

#[test]
fn send_at_exit_sends_held_frames_first() {
    let (control, mut socket) = pair();
    let _cork = control.cork();
    control.send(b"1");
    control.send_at_exit(&[1, 0, 0, 0, b'2']);
    assert_eq!(frame(&mut socket), 1);
    assert_eq!(frame(&mut socket), 2);
}

#[test]
fn send_at_exit_waits_for_a_thread_that_is_not_scheduled() {
    let (control, mut socket) = pair();
    let writing = control.lock();
    let dying = thread::spawn({
        let control = Arc::clone(&control);
        move || control.send_at_exit(&[1, 0, 0, 0, b'1'])
    });
    // Longer than a thread should have to wait for its turn.
    thread::sleep(Duration::from_millis(150));
    drop(writing);
    assert_eq!(frame(&mut socket), 1);
    dying.join().unwrap();
}

//! What happens to data that a pack has written when its connections end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::support::machine::Machine;
use crate::support::{SOON, everybody};

/// How long the last data of a pack that ended well may take to be read.
const LINGER: Duration = Duration::from_secs(1);

/// A peer to which a machine's pack has written as much as it could: that many bytes. The peer has not begun to read.
struct Told {
    machine: Machine,
    stream: TcpStream,
    said: usize,
}

/// How a pack gets access to a listener at an address; returns the address for the pack.
type Route = fn(&mut Machine, String) -> String;

const SERVER: Route = |machine, address| {
    machine.client.open(&[&address]);
    address
};
const PEER: Route = |machine, address| machine.reach(&[&address]).swap_remove(0);

/// How often to try something that needs a shim with enough processor time: a busy machine may give it none for a
/// while.
const ATTEMPTS: usize = 10;

#[track_caller]
fn by_either_route(what: &str, try_it: impl Fn(Route) -> bool) {
    for route in [SERVER, PEER] {
        assert!((0..ATTEMPTS).any(|_| try_it(route)), "never: {what}");
    }
}

impl Told {
    fn by(route: Route) -> Self {
        let mut told = (0..ATTEMPTS).map(|_| {
            let mut machine = Machine::of(*everybody().last().unwrap());
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let there = route(&mut machine, listener.local_addr().unwrap().to_string());
            let said = machine.client.number(&format!("pour {there} {}", 64 << 20));
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            Self {
                machine,
                stream,
                said,
            }
        });
        // More than the kernel buffers.
        let told = told.find(|told| told.said > 256 << 10);
        told.unwrap_or_else(|| panic!("a machine never carries more than the kernel takes"))
    }

    /// Writes as much as the kernel takes.
    fn fill(&mut self) {
        self.stream.set_nonblocking(true).unwrap();
        while self.stream.write(&[1; 64 << 10]).is_ok() {}
        self.stream.set_nonblocking(false).unwrap();
    }

    /// Begins to read; returns the machine, the thread that returns how much was read, and how much was written.
    fn hearing(self) -> (Machine, JoinHandle<io::Result<usize>>, usize) {
        let (begins, begun) = channel();
        let mut stream = self.stream;
        let hearing = thread::spawn(move || {
            begins.send(()).unwrap();
            stream.read_to_end(&mut Vec::new())
        });
        begun.recv().unwrap();
        (self.machine, hearing, self.said)
    }
}

#[test]
fn data_written_before_a_close_is_delivered() {
    by_either_route("all is heard", |route| {
        let (mut machine, hearing, said) = Told::by(route).hearing();
        machine.client.close();
        let heard = hearing.join().unwrap();
        assert_eq!(machine.end().code, 0);
        heard.is_ok_and(|heard| heard == said)
    });
}

#[test]
fn data_written_before_the_end_is_delivered() {
    by_either_route("all is heard", |route| {
        let (machine, hearing, said) = Told::by(route).hearing();
        assert_eq!(machine.end().code, 0);
        hearing.join().unwrap().is_ok_and(|heard| heard == said)
    });
}

#[test]
fn a_peer_whose_data_is_no_longer_read_still_gets_all() {
    by_either_route("all is heard", |route| {
        let mut told = Told::by(route);
        told.fill();
        let (mut machine, hearing, said) = told.hearing();
        machine.client.close();
        let heard = hearing.join().unwrap();
        assert_eq!(machine.end().code, 0);
        heard.is_ok_and(|heard| heard == said)
    });
}

/// A peer that does not read delays nobody, and learns by a reset that it did not get everything.
#[test]
fn unread_data_ends_in_a_reset() {
    for route in [SERVER, PEER] {
        let mut told = Told::by(route);
        told.machine.client.close();
        assert_is_reset(told.stream, told.said);
        assert_eq!(told.machine.end().code, 0);
    }
}

#[test]
fn a_lost_pack_is_reported_although_peers_do_not_read() {
    by_either_route("it does not wait", |route| {
        let told = Told::by(route);
        let lost = Instant::now();
        let process_1 = *told.machine.client.shim.processes().last().unwrap();
        // SAFETY: takes plain integers; the process is the shim's grandchild, which has not been waited for.
        assert_eq!(unsafe { libc::kill(process_1, libc::SIGKILL) }, 0);
        assert_eq!(told.machine.wait().code, 128 + libc::SIGKILL);
        let elapsed = lost.elapsed();
        assert_is_reset(told.stream, told.said);
        elapsed < LINGER
    });
}

#[track_caller]
fn assert_is_reset(mut stream: TcpStream, said: usize) {
    let mut heard = Vec::new();
    let end = stream.read_to_end(&mut heard).map_err(|end| end.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    assert!(heard.len() < said);
}

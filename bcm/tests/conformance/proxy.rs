//! A proxy in front of a server or a pack, whose connections a test can hold and cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A connection that is not established by then found no room, as it stays on this machine.
const FULL: Duration = Duration::from_millis(500);

/// Forwards to a server on this machine until dropped.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The server's port.
    server: AtomicU16,
    closed: AtomicBool,
    accepted: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    /// The number of connections, counted from the first accepted one, that are held.
    held: Mutex<usize>,
    /// Whether something has arrived on a held connection.
    holds: AtomicBool,
    released: Condvar,
}

impl Proxy {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        state.server.store(server, Ordering::SeqCst);
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.closed.load(Ordering::SeqCst) {
                    return;
                }
                let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
                shared.wait_until_released(number);
                let server = shared.server.load(Ordering::SeqCst);
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server)))
                else {
                    continue;
                };
                let mut open = shared.open.lock().unwrap();
                for (from, to) in [(&client, &server), (&server, &client)] {
                    from.set_nodelay(true).unwrap();
                    open.push(from.try_clone().unwrap());
                    let ends = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    forward(ends, number, Arc::clone(&shared));
                }
            }
        });
        Self { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// New connections go to another server, as after a failover.
    pub fn redirect(&self, server: u16) {
        self.state.server.store(server, Ordering::SeqCst);
    }

    /// Cuts every connection, with whatever is on its way in it. New ones are accepted.
    pub fn cut(&self) {
        self.cut_all_but(0);
    }

    /// Cuts every connection except the first ones.
    pub fn cut_all_but(&self, first: usize) {
        let mut open = self.state.open.lock().unwrap();
        let kept = open.len().min(2 * first);
        for connection in open.drain(kept..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Holds everything that has not passed yet until it is released, including new connections,
    /// whether there is a server in the meantime or not.
    pub fn hold(&self) {
        self.hold_first(usize::MAX);
    }

    /// Like `hold`, but new connections are not affected.
    pub fn hold_what_is_open(&self) {
        self.hold_first(self.accepted());
    }

    fn hold_first(&self, connections: usize) {
        self.state.holds.store(false, Ordering::SeqCst);
        *self.state.held.lock().unwrap() = connections;
    }

    /// Whether anything is being held.
    pub fn holds(&self) -> bool {
        self.state.holds.load(Ordering::SeqCst)
    }

    pub fn release(&self) {
        *self.state.held.lock().unwrap() = 0;
        self.state.released.notify_all();
    }

    /// Opens as many connections as can wait to be accepted while all are held: further ones are
    /// dropped.
    pub fn crowd(&self) -> Vec<TcpStream> {
        let proxy = SocketAddr::from(([127, 0, 0, 1], self.port));
        std::iter::from_fn(|| TcpStream::connect_timeout(&proxy, FULL).ok()).collect()
    }

    /// The number of connections so far.
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }
}

impl State {
    /// Waits while the connection of this number is held.
    fn wait_until_released(&self, number: usize) {
        let held = self.held.lock().unwrap();
        self.holds.fetch_or(number < *held, Ordering::SeqCst);
        drop(
            self.released
                .wait_while(held, |held| number < *held)
                .unwrap(),
        );
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.release();
        self.cut();
    }
}

fn forward((mut from, mut to): (TcpStream, TcpStream), number: usize, state: Arc<State>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            state.wait_until_released(number);
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}

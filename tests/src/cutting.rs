//! A proxy between a client and its platform that cuts connections.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A proxy that forwards everything, but cuts the first connections once the platform has answered, without passing on
/// the answer.
pub struct Cutter {
    address: String,
    left: Arc<AtomicUsize>,
}

impl Cutter {
    /// Starts a proxy in front of the platform at this address, which cuts the first `cuts` connections.
    pub fn before(platform: &str, cuts: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (platform, left) = (platform.to_owned(), Arc::new(AtomicUsize::new(cuts)));
        let cuts = Arc::clone(&left);
        // The thread ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, platform, cuts) = (client.unwrap(), platform.clone(), cuts.clone());
                thread::spawn(move || pass(&client, &platform, &cuts));
            }
        });
        Self { address, left }
    }

    /// `http://host:port`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections are still to be cut.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }
}

/// Handles one connection: a single exchange whose answer is lost, or all exchanges.
fn pass(client: &TcpStream, platform: &str, cuts: &AtomicUsize) {
    let platform = TcpStream::connect(platform).unwrap();
    let cut = |left: usize| left.checked_sub(1);
    if cuts
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, cut)
        .is_ok()
    {
        let request = message(&mut BufReader::new(client)).expect("a request");
        (&platform).write_all(&request).unwrap();
        message(&mut BufReader::new(&platform)).expect("the platform answers");
        return;
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::copy(&mut &*client, &mut &platform);
            let _ = platform.shutdown(Shutdown::Both);
        });
        let _ = io::copy(&mut &platform, &mut &*client);
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// Reads a head, and a body of the length that it states.
fn message(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    while !message.ends_with(b"\r\n\r\n") {
        if from.read_until(b'\n', &mut message).unwrap_or(0) == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&message).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let start = message.len();
    message.resize(start + length.unwrap_or(0), 0);
    from.read_exact(&mut message[start..]).ok()?;
    Some(message)
}

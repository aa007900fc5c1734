//! Two machines, as far as the network can see: the test's own, and the internet.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

use crate::support::is_root;

/// The test's machine.
pub const MACHINE: [&str; 2] = ["203.0.113.1", "2001:db8:1::1"];

/// Addresses for documentation, which no network has.
pub const INTERNET: [&str; 2] = ["198.51.100.7", "2001:db8::7"];

/// Further addresses of the other machine.
pub const PRIVATE: [&str; 6] = [
    "10.9.9.9",
    "169.254.169.254",
    "100.100.100.200",
    "192.168.9.9",
    "fd00:9::9",
    "64:ff9b::a09:909",
];

/// The other machine's address in the network between the two.
pub const NEIGHBOUR: &str = "2001:db8:1::2";

/// An address of no host, for which nothing reports an error.
pub const SILENT: &str = "198.51.100.66";

const INSIDE: &str = "BURST_TEST_MACHINE";

/// Runs the test with this name once more, alone, in a network of its own whose resolver is on this machine; returns
/// whether this is that run. Needs root.
pub fn enter(test: &str) -> bool {
    if !is_root() {
        eprintln!("{test} is left out: only root can lay a cable");
        return false;
    }
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let resolvers = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(resolvers.path(), "nameserver 127.0.0.53\n").unwrap();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(resolvers.path(), readable).unwrap();
    let run = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c"])
        .arg("mount --bind $RESOLVERS /etc/resolv.conf && ip link set lo up && exec \"$@\"")
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "")
        .env("RESOLVERS", resolvers.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    false
}

type Serve = Box<dyn Fn(&mut TcpStream) + Send + Sync>;

/// The internet, with a server at each of its addresses that echoes everything, on the same port of TCP and UDP.
pub struct Elsewhere {
    port: u16,
    connected: Arc<AtomicUsize>,
    more: Sender<(Serve, Sender<SocketAddr>)>,
}

impl Elsewhere {
    pub fn wire() -> Self {
        let (told, hears) = channel();
        let (wired, begins) = channel::<()>();
        let (listening, listens) = channel();
        let (more, orders) = channel::<(Serve, Sender<SocketAddr>)>();
        let connected = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connected);
        thread::spawn(move || {
            // SAFETY: does not unshare descriptors from another thread's.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            told.send(gettid().as_raw_nonzero()).unwrap();
            begins.recv().unwrap();
            there();
            listening.send(serve_all(&count)).unwrap();
            // Whatever this thread starts from here on is on the other machine, too.
            for (serve, answer) in orders {
                let listener = TcpListener::bind((INTERNET[0], 0)).unwrap();
                answer.send(listener.local_addr().unwrap()).unwrap();
                accept(listener, Arc::new(AtomicUsize::new(0)), serve);
            }
        });
        let thread = hears.recv().unwrap();
        ip(&format!(
            "link add near type veth peer name far netns {thread}"
        ));
        ip("address add 203.0.113.1/24 dev near");
        ip("address add 2001:db8:1::1/64 dev near nodad");
        ip("link set near up");
        wired.send(()).unwrap();
        let port = listens.recv().unwrap();
        ip("route add default via 203.0.113.2");
        ip("-6 route add default via 2001:db8:1::2");
        Self {
            port,
            connected,
            more,
        }
    }

    /// The endpoint of the server at this address.
    pub fn at(&self, address: &str) -> String {
        SocketAddr::new(address.parse().unwrap(), self.port).to_string()
    }

    /// How many clients are connected to it, at any address.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    /// Starts another server there, which does this for each connection.
    pub fn serve(&self, serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
        let (answer, hears) = channel();
        self.more.send((Box::new(serve), answer)).unwrap();
        hears.recv().unwrap()
    }
}

/// Sets up the other machine's interfaces and addresses.
fn there() {
    ip("link set lo up");
    ip("address add 203.0.113.2/24 dev far");
    ip("address add 2001:db8:1::2/64 dev far nodad");
    ip("link set far up");
    for address in INTERNET.iter().chain(&PRIVATE) {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        ip(&format!("address add {address} dev lo{nodad}"));
    }
    ip(&format!("route add blackhole {SILENT}"));
}

fn serve_all(count: &Arc<AtomicUsize>) -> u16 {
    let mut port = 0;
    for address in INTERNET.iter().chain(&PRIVATE).chain([&NEIGHBOUR]) {
        let address: IpAddr = address.parse().unwrap();
        let listener = TcpListener::bind((address, port)).unwrap();
        port = listener.local_addr().unwrap().port();
        accept(listener, Arc::clone(count), Box::new(echo));
        say_back(UdpSocket::bind((address, port)).unwrap());
    }
    port
}

fn accept(listener: TcpListener, count: Arc<AtomicUsize>, serve: Serve) {
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (serve, count) = (Arc::clone(&serve), Arc::clone(&count));
            count.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || {
                serve(&mut stream);
                count.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
}

fn echo(stream: &mut TcpStream) {
    let mut sent = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut sent) {
        if stream.write_all(&sent[..read]).is_err() {
            return;
        }
    }
}

fn say_back(socket: UdpSocket) {
    thread::spawn(move || {
        let mut datagram = [0; 4096];
        while let Ok((length, from)) = socket.recv_from(&mut datagram) {
            let _ = socket.send_to(&datagram[..length], from);
        }
    });
}

/// Starts a datagram echo on the test's own machine.
pub fn datagram_echo(address: &str) -> SocketAddr {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    say_back(socket);
    address
}

/// Starts the resolver of the test's machine, for which all names have this address.
pub fn name_server(address: Ipv4Addr) {
    let socket = UdpSocket::bind("127.0.0.53:53").unwrap();
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let mut answer = question[..length].to_vec();
            // Turns the question into an answer, without the question's additional records.
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            let name_ends = 12 + answer[12..].iter().position(|byte| *byte == 0).unwrap();
            let is_v4 = answer[name_ends + 2] == 1;
            answer.truncate(name_ends + 5);
            answer[6..12].copy_from_slice(&[0, is_v4.into(), 0, 0, 0, 0]);
            if is_v4 {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
                answer.extend(address.octets());
            }
            let _ = socket.send_to(&answer, from);
        }
    });
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    let done = done.unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ip {arguments}: {said}");
}

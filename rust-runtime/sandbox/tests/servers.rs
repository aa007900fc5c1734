//! Which servers a pack reaches, what becomes of connections to them, and what they cost the launcher.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Ended, Launcher, Pack, SOON, Who, everybody, until, unused_user};

/// Connections of a pack at a time.
pub(crate) const MOST: usize = 256;

/// A pack that connects where it is told.
pub(crate) struct Client {
    pub(crate) launcher: Launcher,
    pub(crate) orders: BufReader<TcpStream>,
    pub(crate) pack: Pack,
}

impl Client {
    pub(crate) fn start(who: Who) -> Self {
        let limits =
            serde_json::json!({"memoryMiB": 64, "cpus": 1.5, "processes": 40, "files": 4096});
        Self::of(Pack::new(who).with("limits", limits))
    }

    pub(crate) fn of(pack: Pack) -> Self {
        Self::doing(pack, "obey")
    }

    /// One that does more than that.
    pub(crate) fn doing(pack: Pack, act: &str) -> Self {
        let mut launcher = pack.started(act);
        let line = launcher.line();
        let address = line.strip_prefix("obeying at ").unwrap().to_owned();
        let orders = TcpStream::connect(address).unwrap();
        orders.set_read_timeout(Some(SOON)).unwrap();
        Self {
            launcher,
            orders: BufReader::new(orders),
            pack,
        }
    }

    /// What the launcher answers.
    pub(crate) fn told(&mut self, line: &str) -> String {
        self.launcher.say(line);
        self.launcher.line()
    }

    #[track_caller]
    pub(crate) fn open(&mut self, servers: &[&str]) {
        assert_eq!(self.told(&open(servers)), "opened");
    }

    #[track_caller]
    pub(crate) fn close(&mut self) {
        assert_eq!(self.told(r#"{"close":true}"#), "closed");
    }

    pub(crate) fn order(&mut self, order: &str) -> String {
        let line = format!("{order}\n");
        self.orders.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.orders.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    pub(crate) fn number(&mut self, order: &str) -> usize {
        let answer = self.order(order);
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{order}: {answer}"))
    }

    pub(crate) fn end(self) -> Ended {
        let ended = self.launcher.end();
        self.pack.assert_gone();
        ended
    }
}

/// Who is told from him by his processes.
pub(crate) fn another(who: Who) -> Who {
    match who {
        Who::Ordinary(Some(_)) => Who::Ordinary(Some(unused_user())),
        other => other,
    }
}

fn open(servers: &[&str]) -> String {
    serde_json::json!({ "open": servers }).to_string()
}

/// A server that says everything back, and ends when its client does.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    connected: Arc<AtomicUsize>,
}

impl Echo {
    pub(crate) fn at(host: &str) -> Self {
        Self::on((host, 0))
    }

    pub(crate) fn on(address: impl ToSocketAddrs) -> Self {
        Self::by(TcpListener::bind(address).unwrap(), |mut stream| {
            let mut sent = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut sent) {
                if stream.write_all(&sent[..read]).is_err() {
                    return;
                }
            }
        })
    }

    /// One that does this for each connection.
    pub(crate) fn doing(host: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::by(TcpListener::bind((host, 0)).unwrap(), serve)
    }

    fn by(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let connected = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connected), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, serve) = (Arc::clone(&count), Arc::clone(&serve));
                count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    serve(stream);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, connected }
    }

    pub(crate) fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    pub(crate) fn here(&self) -> String {
        self.address.to_string()
    }

    fn named(&self, name: &str) -> String {
        format!("{name}:{}", self.address.port())
    }
}

/// Addresses of this machine, with one that is no loopback's if it has any.
fn hosts() -> Vec<String> {
    let mut hosts = vec!["127.0.0.1".to_owned(), "::1".to_owned()];
    hosts.extend(outward());
    hosts
}

fn outward() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent by that.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[test]
fn what_is_open_is_reached_at_its_own_address_and_nothing_else() {
    for who in everybody() {
        let mut client = Client::start(who);
        let other = Client::start(another(who));
        for host in hosts() {
            let (server, neighbour) = (Echo::at(&host), Echo::at(&host));
            let (here, there) = (server.here(), neighbour.here());
            let ask = format!("ask {here} hello");
            let before = client.order("addresses");
            assert_ne!(client.order(&ask), "hello", "before it is open");
            client.open(&[&here]);
            assert_eq!(client.order(&ask), "hello", "{who:?} {here}");
            // Another port of the same server, which is one of the machine's as well.
            assert_eq!(
                client.order(&format!("ask {there} hello")),
                "ConnectionRefused"
            );
            let control = other.orders.get_ref().peer_addr().unwrap();
            assert_eq!(
                client.order(&format!("ask {control} hello")),
                "ConnectionRefused"
            );
            let metadata = client.order("ask 169.254.169.254:80 hello");
            assert_eq!(metadata, "NetworkUnreachable");
            // What it has opened last is what it reaches.
            client.open(&[&there]);
            assert_eq!(client.order(&format!("ask {there} hello")), "hello");
            assert_eq!(client.order(&ask), "ConnectionRefused");
            client.close();
            assert_ne!(client.order(&format!("ask {there} hello")), "hello");
            assert_eq!(client.order("addresses"), before);
        }
        assert_eq!(other.end().code, 0);
        assert_eq!(client.end().code, 0);
    }
}

#[test]
fn servers_have_their_names_while_they_are_open() {
    for who in everybody() {
        let mut client = Client::start(who);
        let none = client.order("hosts");
        assert_eq!(none, "127.0.0.1 localhost pack;::1 localhost;");
        // By more than one address, of which it has one alone.
        let server = Echo::at("127.0.0.1");
        client.open(&[&server.named("localhost")]);
        assert_eq!(
            client.order(&format!("ask {} hello", server.named("localhost"))),
            "hello"
        );
        assert_eq!(client.order("hosts"), none);
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let name = name.trim();
        let everywhere = Echo::at("0.0.0.0");
        client.open(&[&everywhere.named(name)]);
        assert_eq!(
            client.order(&format!("ask {} hello", everywhere.named(name))),
            "hello"
        );
        assert!(client.order("hosts").contains(&format!(" {name};")));
        let write = client.order("write-hosts");
        assert!(
            ["ReadOnlyFilesystem", "PermissionDenied"].contains(&&*write),
            "{write}"
        );
        client.close();
        assert_eq!(client.order("hosts"), none);
        client.end();
    }
}

#[test]
fn all_are_open_or_none() {
    let server = Echo::at("127.0.0.1");
    for who in everybody() {
        let mut client = Client::start(who);
        let before = client.order("addresses");
        let many = vec!["127.0.0.1:9"; 65];
        for (servers, why) in [
            (
                vec![server.here(), "nobody.invalid:1".to_owned()],
                "'nobody.invalid' is not found",
            ),
            (
                vec![server.here(), "0.0.0.0:1".to_owned()],
                "no address that a server can have",
            ),
            (
                vec![server.here(), "one two:1".to_owned()],
                "is not HOST:PORT",
            ),
            (
                vec![server.here(), "198.51.100.7".to_owned()],
                "is not HOST:PORT",
            ),
            (
                many.iter().map(|one| (*one).to_owned()).collect(),
                "64 servers",
            ),
        ] {
            let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
            let told = client.told(&open(&servers));
            assert!(
                told.starts_with("open failed: ") && told.contains(why),
                "{told}"
            );
            assert_ne!(
                client.order(&format!("ask {} hello", server.here())),
                "hello"
            );
        }
        assert_eq!(client.order("addresses"), before);
        // It is as good as before.
        client.open(&[&server.here()]);
        assert_eq!(
            client.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        client.end();
    }
}

#[test]
fn who_is_not_there_resets_what_is_connected_to_him() {
    for who in everybody() {
        let mut client = Client::start(who);
        let gone = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        client.open(&[&gone.to_string()]);
        assert_eq!(
            client.order(&format!("ask {gone} hello")),
            "ConnectionReset"
        );
        // One that breaks off is not taken for one that has said all.
        let breaks_off = Echo::doing("127.0.0.1", |stream| {
            let linger = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            linger.unwrap();
        });
        client.open(&[&breaks_off.here()]);
        let answer = client.order(&format!("ask {} hello", breaks_off.here()));
        assert!(
            ["ConnectionReset", "BrokenPipe"].contains(&&*answer),
            "{answer}"
        );
        client.end();
    }
}

#[test]
fn no_connection_outlives_its_server_s_being_open() {
    for who in everybody() {
        let server = Echo::at("127.0.0.1");
        let hold = format!("hold {} 20", server.here());
        let mut client = Client::start(who);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        let process = client.launcher.process();
        client.close();
        until("the server has nobody", || server.connected() == 0);
        assert_eq!(client.number("ended"), 20);
        let idle = descriptors(process);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.close();
        assert_eq!(descriptors(process), idle);
        // Nor its pack.
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.end();
        until("the server has nobody", || server.connected() == 0);
        // Nor the launcher, however it ends.
        let mut client = Client::start(who);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.launcher.signal(libc::SIGKILL);
        client.launcher.wait();
        until("the server has nobody", || server.connected() == 0);
        client.pack.assert_gone_but_for_groups();
    }
}

#[test]
fn who_takes_all_there_is_takes_it_from_itself() {
    for who in everybody() {
        let server = Echo::at("127.0.0.1");
        // Takes nothing in, and says nothing.
        let deaf = Echo::doing("127.0.0.1", |mut stream| {
            let _ = stream.shutdown(Shutdown::Write);
            thread::park();
            let _ = stream.read(&mut [0]);
        });
        // Never stops, whoever listens.
        let loud = Echo::doing("127.0.0.1", |mut stream| {
            while stream.write_all(&[1; 64 << 10]).is_ok() {}
        });
        let mut neighbour = Client::start(another(who));
        neighbour.open(&[&server.here()]);
        let mut client = Client::start(who);
        client.open(&[&server.here(), &deaf.here(), &loud.here()]);
        let process = client.launcher.process();
        let (held, memory) = (descriptors(process), resident(process));
        let hold = |server: &Echo, count: usize| format!("hold {} {count}", server.here());
        let got = client.number(&hold(&server, 1000));
        assert_eq!(got, MOST);
        assert!(descriptors(process) <= held + 2 * MOST);
        assert_eq!(
            neighbour.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        // Closed and open again, it has all of them.
        client.close();
        client.open(&[&server.here(), &deaf.here(), &loud.here()]);
        assert_eq!(client.number("ended"), MOST);
        for _ in 0..4 {
            let poured = client.number(&format!("pour {} {}", deaf.here(), 1 << 30));
            assert!(poured < 64 << 20, "{poured}");
        }
        assert_eq!(client.number(&hold(&loud, 10)), 10);
        assert_eq!(
            client.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        assert_eq!(
            neighbour.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        let grown = resident(process).saturating_sub(memory);
        assert!(grown < 2 * MOST * (32 << 10) + (4 << 20), "{grown} bytes");
        client.close();
        client.end();
        neighbour.end();
    }
}

#[test]
fn who_connects_again_and_again_has_to_wait() {
    let who = *everybody().last().unwrap();
    let server = Echo::at("127.0.0.1");
    let mut client = Client::start(who);
    client.open(&[&server.here()]);
    let began = Instant::now();
    let times = client.order(&format!("time {} {}", server.here(), MOST + 1));
    assert!(times.contains(' '), "{times}");
    assert!(began.elapsed() >= Duration::from_secs(4));
    client.end();
}

#[test]
fn a_port_that_is_taken_in_the_pack_is_not_opened() {
    for who in everybody() {
        let server = Echo::at("127.0.0.1");
        let mut client = Client::start(who);
        client.open(&[&server.here()]);
        // Nor can it be taken while it is open.
        assert_eq!(
            client.order(&format!("listen {}", server.here())),
            "AddrInUse"
        );
        client.close();
        assert_eq!(client.order(&format!("listen {}", server.here())), "done");
        client.end();
    }
}

#[test]
fn what_a_relay_costs_is_told() {
    let server = Echo::at("127.0.0.1");
    let who = *everybody().last().unwrap();
    let mut client = Client::start(who);
    client.open(&[&server.here()]);
    let times = client.order(&format!("time {} 200", server.here()));
    println!("{times} us for a byte and its answer, and for a connection with them");
    assert!(
        times.split(' ').all(|time| time.parse::<u32>().is_ok()),
        "{times}"
    );
    client.end();
}

/// Says as much as is taken.
pub(crate) fn fill(mut stream: &TcpStream) {
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[1; 64 << 10]).is_ok() {}
    stream.set_nonblocking(false).unwrap();
}

#[test]
fn what_a_server_is_told_last_it_hears() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let poured = || {
        let mut client = Client::start(*everybody().last().unwrap());
        client.open(&[&address]);
        let poured = client.number(&format!("pour {address} {}", 64 << 20));
        let (stream, _) = server.accept().unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        (client, stream, poured)
    };
    let (mut client, mut stream, said) = poured();
    client.launcher.say(r#"{"close":true}"#);
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), said);
    assert_eq!(client.launcher.line(), "closed");
    client.end();
    let (client, mut stream, said) = poured();
    let hearing = thread::spawn(move || stream.read_to_end(&mut Vec::new()).unwrap());
    client.end();
    assert_eq!(hearing.join().unwrap(), said);
    // Also one that says what nobody listens to any more.
    let (mut client, mut stream, said) = poured();
    fill(&stream);
    client.launcher.say(r#"{"close":true}"#);
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), said);
    assert_eq!(client.launcher.line(), "closed");
    client.end();
    // Who does not listen keeps nobody.
    let (mut client, mut stream, said) = poured();
    client.close();
    let mut heard = Vec::new();
    let end = stream.read_to_end(&mut heard).map_err(|end| end.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    assert!(heard.len() < said);
    client.end();
}

pub(crate) fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

/// Bytes.
pub(crate) fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.trim().parse::<usize>().unwrap() << 10
}

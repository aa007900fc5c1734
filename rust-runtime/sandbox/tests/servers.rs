//! Which servers a pack reaches, what happens to connections to them, and what they cost the shim.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::client::{Client, MOST, another, open};
use crate::support::costs::{descriptors, resident};
use crate::support::echo::Echo;
use crate::support::{everybody, until};

/// Addresses of this machine, including one that is not a loopback's if it has any.
fn hosts() -> Vec<String> {
    let mut hosts = vec!["127.0.0.1".to_owned(), "::1".to_owned()];
    hosts.extend(outward());
    hosts
}

fn outward() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // This sends nothing.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[test]
fn only_opened_servers_are_reachable_and_at_their_own_address() {
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
            // Another port at the same address, on which the machine listens as well.
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
            // Only what was opened last can be reached.
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
        // Resolves to more than one address, of which the server has only one.
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
fn all_servers_are_opened_or_none() {
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
        // It works as before.
        client.open(&[&server.here()]);
        assert_eq!(
            client.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        client.end();
    }
}

#[test]
fn connections_to_an_unreachable_server_are_reset() {
    for who in everybody() {
        let mut client = Client::start(who);
        // The kernel never assigns this port to those who ask for any.
        let gone = "127.0.0.1:1";
        client.open(&[gone]);
        assert_eq!(
            client.order(&format!("ask {gone} hello")),
            "ConnectionReset"
        );
        // A server that breaks off is not mistaken for one that has ended its stream.
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
fn no_connection_outlives_access_to_its_server() {
    for who in everybody() {
        let server = Echo::at("127.0.0.1");
        let hold = format!("hold {} 20", server.here());
        let mut client = Client::start(who);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        let process = client.shim.process();
        client.close();
        until("the server has nobody", || server.connected() == 0);
        assert_eq!(client.number("ended"), 20);
        let idle = descriptors(process);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.close();
        assert_eq!(descriptors(process), idle);
        // Nor do they outlive the pack.
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.end();
        until("the server has nobody", || server.connected() == 0);
        // Nor the shim, however that ends.
        let mut client = Client::start(who);
        client.open(&[&server.here()]);
        assert_eq!(client.number(&hold), 20);
        client.shim.signal(libc::SIGKILL);
        client.shim.wait();
        until("the server has nobody", || server.connected() == 0);
        client.pack.assert_gone_but_for_groups();
    }
}

#[test]
fn exhausting_all_resources_harms_the_pack_alone() {
    for who in everybody() {
        let server = Echo::at("127.0.0.1");
        // Reads nothing and writes nothing.
        let deaf = Echo::doing("127.0.0.1", |mut stream| {
            let _ = stream.shutdown(Shutdown::Write);
            thread::park();
            let _ = stream.read(&mut [0]);
        });
        // Never stops writing.
        let loud = Echo::doing("127.0.0.1", |mut stream| {
            while stream.write_all(&[1; 64 << 10]).is_ok() {}
        });
        let mut neighbour = Client::start(another(who));
        neighbour.open(&[&server.here()]);
        let mut client = Client::start(who);
        client.open(&[&server.here(), &deaf.here(), &loud.here()]);
        let process = client.shim.process();
        let (held, memory) = (descriptors(process), resident(process));
        let hold = |server: &Echo, count: usize| format!("hold {} {count}", server.here());
        let got = client.number(&hold(&server, 1000));
        assert_eq!(got, MOST);
        assert!(descriptors(process) <= held + 2 * MOST);
        assert_eq!(
            neighbour.order(&format!("ask {} hello", server.here())),
            "hello"
        );
        // Once closed and opened again, all connections are available.
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
fn repeated_connections_have_to_wait() {
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
        // Nor can the pack bind it while it is open.
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
fn a_relays_latency_is_printed() {
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

//! Which parts of the internet a pack reaches, how it resolves names, and what that costs the shim. The internet is
//! another machine, which has all addresses that are needed.

mod world;

use std::fs;
use std::net::{Ipv4Addr, Shutdown};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::support::client::{Client, MOST, another};
use crate::support::costs::{descriptors, resident};
use crate::support::echo::Echo;
use crate::support::{Pack, everybody, probe, until};
use world::{Elsewhere, datagram_echo, name_server};

/// Ranges that are not part of the internet, as in the platform's settings.
const CLOSED: [&str; 15] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/3",
    "::/3",
    "2001::/23",
    "2002::/16",
    "4000::/2",
    "8000::/1",
];

fn internet() -> String {
    serde_json::json!({"internet": {"closed": CLOSED}}).to_string()
}

fn open(client: &mut Client) {
    assert_eq!(client.told(&internet()), "opened");
}

fn ask(client: &mut Client, server: &str) -> String {
    client.order(&format!("ask {server} hello"))
}

fn send(client: &mut Client, server: &str) -> String {
    client.order(&format!("send {server} hello"))
}

fn send_in_vain(client: &mut Client, server: &str) -> String {
    client.order(&format!("send-in-vain {server} hello"))
}

#[test]
fn the_internet_is_reachable_but_not_the_machine_or_private_networks() {
    if !world::enter("internet::the_internet_is_reachable_but_not_the_machine_or_private_networks")
    {
        return;
    }
    let elsewhere = Elsewhere::wire();
    for who in everybody() {
        let mut client = Client::start(who);
        let other = Client::start(another(who));
        let before = client.order("addresses");
        for address in world::INTERNET {
            let server = elsewhere.at(address);
            assert_eq!(ask(&mut client, &server), "NetworkUnreachable");
            open(&mut client);
            assert_eq!(ask(&mut client, &server), "hello", "{who:?} {server}");
            assert_eq!(send(&mut client, &server), "hello", "{who:?} {server}");
            client.close();
            assert_eq!(ask(&mut client, &server), "NetworkUnreachable");
        }
        assert_eq!(client.order("addresses"), before);
        open(&mut client);
        for address in world::PRIVATE.into_iter().chain([world::NEIGHBOUR]) {
            let server = elsewhere.at(address);
            assert_eq!(ask(&mut client, &server), "ConnectionReset", "{server}");
            assert_ne!(send_in_vain(&mut client, &server), "hello", "{server}");
        }
        // The machine's own addresses, including public ones.
        for address in world::MACHINE {
            let (here, datagrams) = (Echo::at(address), datagram_echo(address));
            assert_eq!(ask(&mut client, &here.here()), "ConnectionReset");
            assert_ne!(send_in_vain(&mut client, &datagrams.to_string()), "hello");
        }
        let here = Echo::at("127.0.0.1");
        assert_eq!(ask(&mut client, &here.here()), "ConnectionRefused");
        // Another pack's runtime.
        let control = other.orders.get_ref().peer_addr().unwrap().to_string();
        assert_eq!(ask(&mut client, &control), "ConnectionRefused");
        // The pack's own address there.
        assert_eq!(ask(&mut client, "192.0.0.1:80"), "ConnectionRefused");
        assert_eq!(other.end().code, 0);
        assert_eq!(client.end().code, 0);
    }
}

#[test]
fn names_are_resolved_only_by_the_machines_resolvers() {
    if !world::enter("internet::names_are_resolved_only_by_the_machines_resolvers") {
        return;
    }
    let _elsewhere = Elsewhere::wire();
    name_server(Ipv4Addr::new(198, 51, 100, 7));
    let by_tcp = Echo::on("127.0.0.53:53");
    for who in everybody() {
        let mut client = Client::start(who);
        assert_ne!(client.order("find somewhere.example"), "198.51.100.7");
        assert_eq!(client.order("resolvers"), "");
        open(&mut client);
        assert_eq!(client.order("resolvers"), "nameserver 192.0.0.2;");
        assert_eq!(client.order("find somewhere.example"), "198.51.100.7");
        assert_eq!(ask(&mut client, "192.0.0.2:53"), "hello");
        assert_eq!(by_tcp.address.ip(), Ipv4Addr::new(127, 0, 0, 53));
        // Neither another port of the resolver, nor a resolver that the machine does not use.
        assert_eq!(ask(&mut client, "192.0.0.2:80"), "ConnectionReset");
        assert_eq!(ask(&mut client, "192.0.0.3:53"), "ConnectionReset");
        client.close();
        assert_eq!(client.order("resolvers"), "");
        client.end();
    }
}

#[test]
fn servers_and_the_internet_are_open_together() {
    if !world::enter("internet::servers_and_the_internet_are_open_together") {
        return;
    }
    let elsewhere = Elsewhere::wire();
    let server = Echo::at("127.0.0.1");
    for who in everybody() {
        let mut client = Client::start(who);
        // One that is closed to packs otherwise, and one that is not.
        let closed = elsewhere.at(world::PRIVATE[0]);
        let public = elsewhere.at(world::INTERNET[0]);
        client.open(&[&server.here(), &closed, &public]);
        open(&mut client);
        for one in [&server.here(), &closed, &public] {
            assert_eq!(ask(&mut client, one), "hello", "{one}");
        }
        // Only what was opened last can be reached.
        client.open(&[&server.here()]);
        assert_eq!(ask(&mut client, &server.here()), "hello");
        assert_eq!(ask(&mut client, &public), "NetworkUnreachable");
        assert_eq!(client.order("resolvers"), "");
        client.close();
        client.end();
    }
}

#[test]
fn an_unreachable_server_resets_and_no_connection_outlives_the_order() {
    if !world::enter("internet::an_unreachable_server_resets_and_no_connection_outlives_the_order")
    {
        return;
    }
    let elsewhere = Elsewhere::wire();
    for who in everybody() {
        let mut client = Client::start(who);
        open(&mut client);
        let nobody = format!("{}:9", world::INTERNET[0]);
        assert_eq!(ask(&mut client, &nobody), "ConnectionReset");
        let server = elsewhere.at(world::INTERNET[0]);
        assert_eq!(client.number(&format!("hold {server} 20")), 20);
        let process = client.shim.process();
        client.close();
        until("nobody is connected", || elsewhere.connected() == 0);
        assert_eq!(client.number("ended"), 20);
        let idle = descriptors(process);
        open(&mut client);
        assert_eq!(client.number(&format!("hold {server} 20")), 20);
        assert_eq!(client.number(&format!("flows {server} 20")), 20);
        client.close();
        assert_eq!(descriptors(process), idle);
        open(&mut client);
        assert_eq!(client.number(&format!("hold {server} 20")), 20);
        client.shim.signal(libc::SIGKILL);
        client.shim.wait();
        until("nobody is connected", || elsewhere.connected() == 0);
        client.pack.assert_gone_but_for_groups();
    }
}

#[test]
fn exhausting_all_resources_harms_the_pack_alone() {
    if !world::enter("internet::exhausting_all_resources_harms_the_pack_alone") {
        return;
    }
    let elsewhere = Elsewhere::wire();
    let server = elsewhere.at(world::INTERNET[0]);
    // Reads nothing.
    let deaf = elsewhere.serve(|stream| {
        let _ = stream.shutdown(Shutdown::Write);
        thread::park();
    });
    for who in everybody() {
        let mut neighbour = Client::start(another(who));
        open(&mut neighbour);
        let mut client = Client::start(who);
        open(&mut client);
        let process = client.shim.process();
        let (held, memory) = (descriptors(process), resident(process));
        let most = held + 2 * MOST + 2 * MOST;
        assert_eq!(client.number(&format!("hold {server} 1000")), MOST);
        // Each replaces another one.
        assert_eq!(client.number(&format!("flows {server} 1000")), 1000);
        assert!(descriptors(process) <= most, "{}", descriptors(process));
        assert_eq!(ask(&mut neighbour, &server), "hello");
        client.close();
        open(&mut client);
        for _ in 0..4 {
            let poured = client.number(&format!("pour {deaf} {}", 1 << 30));
            assert!(poured < 64 << 20, "{poured}");
        }
        // A host that never answers.
        let nobody = format!("{}:80", world::SILENT);
        assert_eq!(client.number(&format!("knock {nobody} 3000")), 3000);
        assert!(descriptors(process) <= most, "{}", descriptors(process));
        assert_eq!(ask(&mut neighbour, &server), "hello");
        let grown = resident(process).saturating_sub(memory);
        assert!(grown < 2 * MOST * (32 << 10) + (8 << 20), "{grown} bytes");
        // A flood, allowed or not, does not keep the access from being closed.
        let forbidden = elsewhere.at(world::PRIVATE[0]);
        for flooded in [&server, &forbidden] {
            assert_eq!(client.order(&format!("flood {flooded}")), "begun");
        }
        assert_eq!(ask(&mut neighbour, &server), "hello");
        client.close();
        open(&mut client);
        assert_eq!(ask(&mut client, &server), "hello");
        client.end();
        neighbour.end();
    }
}

#[test]
fn an_invalid_range_opens_nothing() {
    let mut client = Client::start(*everybody().last().unwrap());
    let told = client.told(r#"{"internet":{"closed":["10.0.0.0/33"]}}"#);
    assert!(
        told.starts_with("open failed: '10.0.0.0/33' is no range"),
        "{told}"
    );
    assert_eq!(ask(&mut client, "198.51.100.7:80"), "NetworkUnreachable");
    client.end();
}

#[test]
fn a_root_without_a_file_of_resolvers_is_reported() {
    let root = crate::support::open_directory();
    copy_libraries(root.path());
    for who in everybody() {
        let pack = Pack::new(who).with("root", root.path().to_str().unwrap());
        let mut client = Client::of(pack);
        let told = client.told(&internet());
        assert!(told.contains("no /etc/resolv.conf"), "{told}");
        assert_eq!(ask(&mut client, "198.51.100.7:80"), "NetworkUnreachable");
        client.end();
    }
}

/// Copies the libraries that the probe needs.
fn copy_libraries(root: &Path) {
    let needed = Command::new("ldd").arg(probe()).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    for library in needed.split_whitespace().filter(|it| it.starts_with('/')) {
        let copy = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(library, copy).unwrap();
    }
}

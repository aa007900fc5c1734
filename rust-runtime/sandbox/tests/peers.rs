//! Packs on several machines: they reach each other if their shims allow it, and nobody can prevent that.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::support::client::{Client, another};
use crate::support::costs::{descriptors, resident};
use crate::support::echo::Echo;
use crate::support::machine::Machine;
use crate::support::{Pack, SOON, everybody, until};

/// The connections in one direction of a pack with few peers, and those of peers that have not proved themselves.
const FEW: usize = 64;
const STRANGERS: usize = 256;

#[test]
fn packs_of_several_machines_connect_while_permitted() {
    for who in everybody() {
        let (mut first, mut second) = (Machine::of(who), Machine::of(another(who)));
        let third = Echo::at("127.0.0.1");
        for host in ["127.0.0.1", "::1", "localhost"] {
            let endpoint = second.listen(host, 2);
            let peers = first.reach(&[&third.here(), &endpoint]);
            assert_eq!(first.meet(&peers[1]), "hello", "{who:?} {endpoint}");
            // Opening servers does not end the access to peers.
            let opened = first
                .client
                .told(&json!({"open": [third.here()]}).to_string());
            assert_eq!(opened, "opened");
            assert_eq!(first.meet(&peers[1]), "hello");
            let asked = first.client.order(&format!("ask {} hello", peers[0]));
            assert_eq!(asked, "hello");
            // It has no number for anybody else, nor a route to their addresses.
            assert_eq!(first.meet(&peers[2]), "Uncategorized");
            assert_eq!(
                first.client.order(&format!("meet {endpoint} hello")),
                "ConnectionRefused"
            );
            second.client.close();
            assert_eq!(first.meet(&peers[1]), "ConnectionRefused");
            first.client.close();
            assert_eq!(first.meet(&peers[0]), "NotFound");
        }
        assert_eq!(first.end().code, 0);
        assert_eq!(second.end().code, 0);
    }
}

/// As if behind another name or an address translation.
#[test]
fn a_host_of_another_machine_is_bound_on_all_interfaces() {
    let who = *everybody().last().unwrap();
    let (mut first, mut second) = (Machine::of(who), Machine::of(another(who)));
    let endpoint = second.listen("192.0.2.1", 1);
    let port = endpoint.strip_prefix("192.0.2.1:").unwrap();
    let peers = first.reach(&[&format!("127.0.0.1:{port}")]);
    assert_eq!(first.meet(&peers[0]), "hello");
    first.end();
    second.end();
}

#[test]
fn no_connection_outlives_its_permission() {
    for who in everybody() {
        let (mut first, mut second) = (Machine::of(who), Machine::of(another(who)));
        let endpoint = second.listen("127.0.0.1", 1);
        let peers = first.reach(&[&endpoint]);
        let keep = format!("keep {} 20", peers[0]);
        assert_eq!(first.client.number(&keep), 20);
        let idle = |machine: &mut Machine| {
            machine.client.close();
            descriptors(machine.process())
        };
        // Closed by the pack that has made the connections.
        let left = idle(&mut first);
        assert_eq!(first.client.number("ended"), 20);
        // Closed by the pack that has accepted them.
        let peers = first.reach(&[&endpoint]);
        assert_eq!(first.client.number(&keep), 20);
        let left_there = idle(&mut second);
        assert_eq!(first.client.number("ended"), 20 + 20);
        let endpoint = second.listen("127.0.0.1", 1);
        first.reach(&[&endpoint]);
        assert_eq!(first.client.number(&keep), 20);
        assert_eq!((idle(&mut first), idle(&mut second)), (left, left_there));
        // Nor do they outlive the shim, however it ends.
        let endpoint = second.listen("127.0.0.1", 1);
        first.reach(&[&endpoint]);
        assert_eq!(first.client.number(&format!("keep {} 20", peers[0])), 20);
        second.client.shim.signal(libc::SIGKILL);
        second.client.shim.wait();
        second.client.pack.assert_gone_but_for_groups();
        assert_eq!(first.client.number("ended"), 4 * 20);
        assert!(TcpStream::connect(&endpoint).is_err());
        assert_eq!(first.end().code, 0);
    }
}

#[test]
fn an_unreachable_peer_is_reported() {
    let who = *everybody().last().unwrap();
    let mut machine = Machine::of(who);
    for (order, why) in [
        (
            json!({"peers": ["10.0.0.1"]}),
            "peers failed: '10.0.0.1' is not HOST:PORT",
        ),
        (
            json!({"peers": vec!["10.0.0.1:1"; 4097]}),
            "peers failed: a pack may have 4096",
        ),
        (
            json!({"listen": {"host": "h", "packs": 4097}}),
            "listen failed: a pack may have 4096",
        ),
    ] {
        let told = machine.client.told(&order.to_string());
        assert!(told.starts_with(why), "{told}");
    }
    // The largest number allowed.
    let many = vec!["127.0.0.1:9"; 4095];
    let gone = [&many[..], &["nobody.invalid:1"]].concat();
    let peers = machine.reach(&gone);
    assert_eq!(machine.meet(&peers[0]), "ConnectionRefused");
    assert_eq!(machine.meet(&peers[4095]), "HostUnreachable");
    machine.end();
    let mut alone = Client::of(Pack::new(who));
    for order in [
        json!({"peers": []}),
        json!({"listen": {"host": "::1", "packs": 1}}),
    ] {
        let told = alone.told(&order.to_string());
        assert!(
            told.ends_with("failed: the pack has no directory of sockets"),
            "{told}"
        );
    }
    alone.end();
}

/// A stranger on the network, at an address of its own.
fn stranger(from: &str, to: &str) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from: SocketAddr = format!("{from}:0").parse().unwrap();
    socket.bind(&from.into()).unwrap();
    let to: SocketAddr = to.parse().unwrap();
    socket.connect(&to.into()).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket
}

/// They connect by the hundreds and send nothing, or anything but what packs send.
#[test]
fn strangers_do_not_keep_peers_out() {
    for who in everybody() {
        let (mut first, mut second) = (Machine::of(who), Machine::of(another(who)));
        let endpoint = second.listen("127.0.0.1", 1);
        let peers = first.reach(&[&endpoint]);
        let (held, memory) = (descriptors(second.process()), resident(second.process()));
        let most = held + 2 * (STRANGERS + 1 + FEW);
        let mut crowd: Vec<Socket> = (0..3 * STRANGERS)
            .map(|_| stranger("127.0.0.2", &endpoint))
            .collect();
        for early in crowd.iter().step_by(2) {
            // Before the greeting, so that the greeting would look like an answer to it.
            let _ = early.send(b"fri");
        }
        assert_eq!(first.meet(&peers[0]), "hello", "{who:?}");
        assert!(descriptors(second.process()) <= most);
        // Those for whom there is no room are evicted, the oldest first.
        let mut first_stranger = crowd.remove(0);
        let mut said = Vec::new();
        let _ = first_stranger.read_to_end(&mut said);
        for wrong in &crowd {
            let _ = wrong.send(b"foe, and some more");
        }
        assert_eq!(first.client.number(&format!("keep {} 10", peers[0])), 10);
        until("nobody else is left", || {
            descriptors(second.process()) <= held + 2 * 10
        });
        let grown = resident(second.process()).saturating_sub(memory);
        assert!(grown < 16 << 20, "{grown} bytes");
        first.end();
        second.end();
    }
}

/// Neither a hostile pack, nor one that answers everybody, exhausts its shim.
#[test]
fn connections_are_bounded() {
    for who in everybody() {
        let (mut first, mut second) = (Machine::of(who), Machine::of(another(who)));
        let endpoint = second.listen("127.0.0.1", 1);
        let server = Echo::at("127.0.0.1");
        let peers = first.reach(&[&endpoint, &server.here()]);
        let held = descriptors(first.process());
        let hold = format!("hold {} {}", peers[1], 4 * FEW);
        assert_eq!(first.client.number(&hold), FEW);
        assert!(descriptors(first.process()) <= held + 2 * FEW);
        first.client.close();
        until("the server has nobody", || server.connected() == 0);
        let peers = first.reach(&[&endpoint]);
        assert_eq!(
            first.client.number(&format!("keep {} {FEW}", peers[0])),
            FEW
        );
        // All other packs share them.
        let mut third = Machine::of(another(who));
        let peers = third.reach(&[&endpoint]);
        // One more is turned away, perhaps before it has introduced itself.
        let connected = third.client.number(&format!("keep {} 1", peers[0]));
        assert_eq!(third.client.number("ended"), connected);
        for machine in [first, second, third] {
            machine.end();
        }
    }
}

//! A separate machine, as far as the network is concerned: a network namespace at the end of a cable that can be cut;
//! and processes of this machine that can be cut off from each other.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::{command, wait};

const LIMIT: Duration = wait::SOON;

/// A network namespace and a pair of virtual interfaces. Dropping it removes both.
#[derive(Debug)]
pub struct Cable {
    name: String,
    here: String,
    there: String,
}

impl Cable {
    /// Lays a cable. This needs root, `ip` and `iptables`.
    #[track_caller]
    pub fn lay() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        // 10.213.0.0/16 in blocks of four addresses; an interface name has at most 15 letters.
        let piece = std::process::id().wrapping_mul(7).wrapping_add(count) % 16_384;
        let (third, fourth) = (piece / 64, piece % 64 * 4);
        let cable = Self {
            name: format!("bt{piece}"),
            here: format!("10.213.{third}.{}", fourth + 1),
            there: format!("10.213.{third}.{}", fourth + 2),
        };
        let name = cable.name.as_str();
        let peer = format!("{name}p");
        cable.remove();
        run(&["ip", "netns", "add", name]);
        run(&[
            "ip", "link", "add", name, "type", "veth", "peer", "name", &peer, "netns", name,
        ]);
        run(&[
            "ip",
            "addr",
            "add",
            &format!("{}/30", cable.here),
            "dev",
            name,
        ]);
        run(&["ip", "link", "set", name, "up"]);
        run(&[
            "ip",
            "-n",
            name,
            "addr",
            "add",
            &format!("{}/30", cable.there),
            "dev",
            &peer,
        ]);
        run(&["ip", "-n", name, "link", "set", &peer, "up"]);
        run(&["ip", "-n", name, "link", "set", "lo", "up"]);
        cable
    }

    /// This machine's address on the cable.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// The other machine's address on the cable.
    pub fn there(&self) -> &str {
        &self.there
    }

    /// Gives the other machine one more address, with a route to it from this one.
    pub fn give(&self, address: &str) {
        let host = format!("{address}/32");
        run(&["ip", "-n", &self.name, "addr", "add", &host, "dev", "lo"]);
        run(&["ip", "route", "add", &host, "via", &self.there]);
    }

    /// Gives this machine one more address, on the cable.
    pub fn take(&self, address: &str) {
        let host = format!("{address}/32");
        run(&["ip", "addr", "add", &host, "dev", &self.name]);
    }

    /// The prefix of a command that runs it on the other machine.
    pub fn prefix(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name]
            .map(String::from)
            .to_vec()
    }

    /// Cuts the cable: from now on all packets are dropped silently, in both directions.
    pub fn cut(&self) {
        self.rules("--append");
    }

    /// Repairs the cable.
    pub fn mend(&self) {
        self.rules("--delete");
    }

    fn rules(&self, verb: &str) {
        let drop = ["--wait", "30", verb, "INPUT", "--in-interface"];
        let peer = format!("{}p", self.name);
        run(&[&["iptables"], &drop[..], &[&self.name, "--jump", "DROP"]].concat());
        let inside = ["ip", "netns", "exec", &self.name, "iptables"];
        run(&[&inside[..], &drop[..], &[&peer, "--jump", "DROP"]].concat());
    }

    fn remove(&self) {
        let drop = ["--wait", "30", "--delete", "INPUT", "--in-interface"];
        attempt(&[&["iptables"], &drop[..], &[&self.name, "--jump", "DROP"]].concat());
        attempt(&["ip", "link", "del", &self.name]);
        attempt(&["ip", "netns", "del", &self.name]);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Servers on this machine, each in a group of its own, which can be separated from each other: while the partition is
/// open, none of them reaches another, and all other traffic is unaffected. Dropping it closes it.
#[derive(Debug)]
pub struct Partition {
    sides: Vec<(u32, u16)>,
}

impl Partition {
    /// A partition between the servers that will listen on these ports.
    pub fn between(ports: impl IntoIterator<Item = u16>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Group ids that nobody else uses.
        let partition = std::process::id() * 16 + NEXT.fetch_add(1, Ordering::Relaxed) % 16;
        let groups = 100_000 + partition * 8..;
        Self {
            sides: groups.zip(ports).collect(),
        }
    }

    /// The group that one of the servers must run in.
    pub fn group(&self, side: usize) -> u32 {
        self.sides[side].0
    }

    /// Opens the partition: from now on all packets between the servers are dropped silently.
    pub fn open(&self) {
        self.rules("--append", run);
    }

    /// Closes the partition: from now on packets arrive again.
    pub fn close(&self) {
        self.rules("--delete", run);
    }

    fn rules(&self, verb: &str, run: fn(&[&str])) {
        for (from, _) in &self.sides {
            for (_, port) in self.sides.iter().filter(|(to, _)| to != from) {
                let (from, port) = (from.to_string(), port.to_string());
                let own = ["--match", "owner", "--gid-owner", &from];
                let other = ["--protocol", "tcp", "--dport", &port, "--jump", "DROP"];
                let rule = ["iptables", "--wait", "30", verb, "OUTPUT"];
                run(&[&rule[..], &own, &other].concat());
            }
        }
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        self.rules("--delete", attempt);
    }
}

#[track_caller]
fn run(arguments: &[&str]) {
    let finished = command::run(Command::new(arguments[0]).args(&arguments[1..]), LIMIT);
    assert_eq!(
        finished.code,
        Some(0),
        "{arguments:?}: {}\nPartitions need root, and the Debian packages iproute2 and iptables.",
        finished.stderr
    );
}

fn attempt(arguments: &[&str]) {
    let _ = command::run(Command::new(arguments[0]).args(&arguments[1..]), LIMIT);
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::thread;

    use super::*;

    #[test]
    fn a_cut_cable_blocks_traffic_until_it_is_mended() {
        let cable = Cable::lay();
        let listener = TcpListener::bind((cable.here(), 0)).unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        thread::spawn(move || listener.incoming().for_each(drop));
        let reaches = || {
            let target = format!("exec 3<>/dev/tcp/{}/{}", address.ip(), address.port());
            let mut command = cable.prefix();
            command.extend(["timeout", "1", "bash", "-c", &target].map(String::from));
            let finished = command::run(Command::new(&command[0]).args(&command[1..]), LIMIT);
            finished.code == Some(0)
        };
        let is_reached = || wait::until("it is reached", wait::SOON, || reaches().then_some(()));
        is_reached();
        cable.cut();
        assert!(!reaches());
        cable.mend();
        is_reached();
        assert!(TcpStream::connect(address).is_ok());
    }
}

//! A pack that, as far as it can see, is on a machine of its own; it connects to other packs, and
//! they to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tempfile::TempDir;

use super::client::Client;
use super::{Ended, Pack, Who};
use crate::sockets::sockets;

/// See the module's documentation.
pub struct Machine {
    pub client: Client,
    sockets: TempDir,
}

impl Machine {
    pub fn of(who: Who) -> Self {
        let sockets = sockets(who);
        let limits = json!({"memoryMiB": 64, "cpus": 1.5, "processes": 40, "files": 4096});
        let pack = Pack::new(who)
            .with("limits", limits)
            .with("sockets", sockets.path().to_str().unwrap());
        let mut client = Client::doing(pack, "meet");
        let line = client.shim.line();
        assert!(line.starts_with("named "), "{line}");
        Self { client, sockets }
    }

    /// Lets others connect; returns the endpoint.
    #[track_caller]
    pub fn listen(&mut self, host: &str, packs: usize) -> String {
        let order = json!({"listen": {"host": host, "packs": packs}});
        let answer = self.client.told(&order.to_string());
        let endpoint = answer.strip_prefix("listening for packs ");
        endpoint.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Lets it connect to these; returns how it reaches each of them, and one more, which does not
    /// exist.
    #[track_caller]
    pub fn reach(&mut self, peers: &[&str]) -> Vec<String> {
        let answer = self.client.told(&json!({ "peers": peers }).to_string());
        let path = answer.strip_prefix("peers at ");
        let path = path.unwrap_or_else(|| panic!("{answer}"));
        assert!(path.starts_with("/run/burst/sockets/"), "{path}");
        (0..=peers.len())
            .map(|number| format!("relay:{path}:{number}"))
            .collect()
    }

    pub fn meet(&mut self, peer: &str) -> String {
        self.client.order(&format!("meet {peer} hello"))
    }

    pub fn process(&self) -> u32 {
        self.client.shim.process()
    }

    pub fn end(self) -> Ended {
        let ended = self.client.end();
        assert_empty(&self.sockets);
        ended
    }

    /// Waits until the pack has ended by itself.
    pub fn wait(self) -> Ended {
        let ended = self.client.shim.wait();
        self.client.pack.assert_gone();
        assert_empty(&self.sockets);
        ended
    }
}

#[track_caller]
fn assert_empty(sockets: &TempDir) {
    let sockets = sockets.path();
    fs::set_permissions(sockets, fs::Permissions::from_mode(0o755)).unwrap();
    let left: Vec<_> = fs::read_dir(sockets).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

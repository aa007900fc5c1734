//! A pack that connects as ordered, and its shim.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use super::{Ended, Pack, SOON, Shim, Who, unused_user};

/// Concurrent connections of a pack.
pub const MOST: usize = 256;

/// A pack that connects as ordered.
pub struct Client {
    pub shim: Shim,
    pub orders: BufReader<TcpStream>,
    pub pack: Pack,
}

impl Client {
    pub fn start(who: Who) -> Self {
        let limits =
            serde_json::json!({"memoryMiB": 64, "cpus": 1.5, "processes": 40, "files": 4096});
        Self::of(Pack::new(who).with("limits", limits))
    }

    pub fn of(pack: Pack) -> Self {
        Self::doing(pack, "obey")
    }

    /// Starts one that does more than that.
    pub fn doing(pack: Pack, act: &str) -> Self {
        let mut shim = pack.started(act);
        let line = shim.line();
        let address = line.strip_prefix("obeying at ").unwrap().to_owned();
        let orders = TcpStream::connect(address).unwrap();
        orders.set_read_timeout(Some(SOON)).unwrap();
        Self {
            shim,
            orders: BufReader::new(orders),
            pack,
        }
    }

    /// Sends the shim a line, and returns its answer.
    pub fn told(&mut self, line: &str) -> String {
        self.shim.say(line);
        self.shim.line()
    }

    #[track_caller]
    pub fn open(&mut self, servers: &[&str]) {
        assert_eq!(self.told(&open(servers)), "opened");
    }

    #[track_caller]
    pub fn close(&mut self) {
        assert_eq!(self.told(r#"{"close":true}"#), "closed");
    }

    pub fn order(&mut self, order: &str) -> String {
        let line = format!("{order}\n");
        self.orders.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.orders.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    pub fn number(&mut self, order: &str) -> usize {
        let answer = self.order(order);
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{order}: {answer}"))
    }

    pub fn end(self) -> Ended {
        let ended = self.shim.end();
        self.pack.assert_gone();
        ended
    }
}

/// A user whose processes can be told from those of `who`.
pub fn another(who: Who) -> Who {
    match who {
        Who::Ordinary(Some(_)) => Who::Ordinary(Some(unused_user())),
        other => other,
    }
}

/// The order that opens these servers.
pub fn open(servers: &[&str]) -> String {
    serde_json::json!({ "open": servers }).to_string()
}

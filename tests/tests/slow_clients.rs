//! Strangers that are slow, stop halfway or do not read, where everybody may call: web actions and the API gateway.
//! Fifty of them at once hinder nobody, and are disconnected.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use burst_client::{CreateApiQuery, WebExtension};
use burst_tests::{Api, Driver, Platform, Settings, wait};
use serde_json::json;

/// How long the platform waits each time: long enough that a call is answered in the meantime, even on a busy machine.
const PATIENCE: &str = "30s";

/// By when all are disconnected: other limits, which have their defaults, would take longer.
const GONE: Duration = Duration::from_secs(120);

const HELLO: &str = "
def main(args):
    return {'body': 'hello ' + args['name']}
";

/// The size of an answer that nobody reads, and how many such answers each deaf client requests: together more than the
/// kernel buffers for it.
const LARGE: usize = 900_000;
const ASKED: usize = 12;

/// The paths at which the actions are called.
struct Paths {
    hello: String,
    large: String,
}

#[test]
fn slow_clients_of_web_actions_do_not_block_others() {
    let platform = platform();
    let paths = Paths {
        hello: "/api/v1/web/guest/default/hello.text".to_owned(),
        large: "/api/v1/web/guest/default/large.text".to_owned(),
    };
    do_not_block_others(&platform, &paths);
}

#[test]
fn slow_clients_of_the_gateway_do_not_block_others() {
    let platform = platform();
    let api = platform.api();
    let paths = Paths {
        hello: operation(api, "POST", "hello"),
        large: operation(api, "GET", "large"),
    };
    assert!(!paths.hello.starts_with("/api/v1"), "{}", paths.hello);
    do_not_block_others(&platform, &paths);
}

/// A platform on which everybody may call both actions.
#[track_caller]
fn platform() -> Platform {
    let settings = Settings::new(Driver::Process)
        .set("burst.http.connections.header-timeout", PATIENCE)
        .set("burst.http.connections.stall-timeout", PATIENCE)
        .set("burst.http.body-pace.within", PATIENCE);
    let platform = Platform::start(settings);
    let large = format!("def main(args):\n    return {{'body': 'x' * {LARGE}}}\n");
    for (name, code) in [("hello", HELLO), ("large", &large)] {
        let body = json!({
            "exec": {"kind": "python:default", "code": code},
            "annotations": [{"key": "web-export", "value": true}],
        });
        platform.api().put_action(name, &body);
    }
    platform
}

/// Creates an API with an operation that calls an action of this name; returns its path, without the host.
#[track_caller]
fn operation(api: &Api, verb: &str, name: &str) -> String {
    let document = json!({
        "namespace": "_",
        "gatewayBasePath": "/slow",
        "gatewayPath": format!("/{name}"),
        "gatewayMethod": verb,
        "id": "API:_:/slow",
        "action": {
            "name": name,
            "namespace": "_",
            "backendMethod": verb,
            "backendUrl": format!("{}/api/v1/web/_/default/{name}.text", api.base()),
            "authkey": api.auth(),
        },
    });
    let responsetype = Some(WebExtension::Text);
    let query = CreateApiQuery { responsetype };
    let request = json!({ "apidoc": document });
    let made = api.client().create_api(&query, &request).unwrap();
    let url = made.read().unwrap().gw_api_url;
    format!("{}/{name}", url.strip_prefix(api.base()).unwrap())
}

#[track_caller]
fn do_not_block_others(platform: &Platform, paths: &Paths) {
    let api = platform.api();
    // First calls take longer, which is not the slow clients' fault.
    call(api, paths);
    let large = api
        .client()
        .http()
        .get(format!("{}{}", api.base(), paths.large));
    assert_eq!(api.send(large).text.len(), LARGE);

    let slow = Slow::connect(api.address(), paths);
    let (port, ports) = (port(api.address()), slow.ports());
    assert_eq!(ports.len(), 50);
    wait::until_seen(
        "all are connected",
        wait::SOON,
        || held(port),
        |held| ports.is_subset(held),
    );
    let began = Instant::now();
    let (mut calls, mut amid_all) = (0, 0);
    loop {
        slow.drip();
        call(api, paths);
        calls += 1;
        let held = held(port);
        let left: Vec<&u16> = ports.intersection(&held).collect();
        if left.is_empty() {
            break;
        }
        if left.len() == ports.len() {
            amid_all += 1;
        }
        assert!(began.elapsed() < GONE, "{left:?} of {slow:#?} are there");
    }
    println!(
        "{calls} calls until all were gone, after {:?}; {amid_all} with all there",
        began.elapsed()
    );
    assert!(
        amid_all > 0,
        "not one of {calls} was answered before the platform had lost its patience"
    );
    slow.end();
}

/// Calls an action as others do, on a new connection.
#[track_caller]
fn call(api: &Api, paths: &Paths) {
    let url = format!("{}{}", api.base(), paths.hello);
    let request = api.client().http().post(url).header("Connection", "close");
    let answer = api.send(request.json(&json!({"name": "everybody"})));
    assert_eq!((answer.status, &*answer.text), (200, "hello everybody"));
}

/// Clients that cost themselves nothing.
#[derive(Debug)]
struct Slow {
    /// Clients that send their header one byte at a time.
    dripping: Vec<TcpStream>,
    /// Clients that stop in the middle of a body.
    stopped: Vec<TcpStream>,
    /// Clients that do not read what they requested.
    deaf: Vec<TcpStream>,
}

impl Slow {
    #[track_caller]
    fn connect(address: &str, paths: &Paths) -> Self {
        let Paths { hello, large } = paths;
        let many = |count: usize, request: String| -> Vec<TcpStream> {
            (0..count).map(|_| connect(address, &request)).collect()
        };
        Self {
            stopped: many(
                20,
                format!(
                    "POST {hello} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                     Content-Length: 100000\r\n\r\n{{\"name\": \""
                ),
            ),
            dripping: many(20, format!("POST {hello} HTTP/1.1\r\nHost: x\r\nX-Slow: ")),
            deaf: many(
                10,
                format!("GET {large} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(ASKED),
            ),
        }
    }

    fn all(&self) -> impl Iterator<Item = &TcpStream> {
        self.dripping.iter().chain(&self.stopped).chain(&self.deaf)
    }

    /// The local ports of their connections.
    fn ports(&self) -> BTreeSet<u16> {
        self.all()
            .map(|it| it.local_addr().unwrap().port())
            .collect()
    }

    /// Sends one more byte of each header; disconnected clients are detected elsewhere.
    fn drip(&self) {
        for mut stream in &self.dripping {
            let _ = stream.write_all(b"x");
        }
    }

    /// Checks that the stopped clients got an error, and that the deaf ones missed a part.
    #[track_caller]
    fn end(self) {
        for stream in self.stopped {
            let answer = String::from_utf8(rest(stream)).unwrap();
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            assert!(answer.contains("did not arrive in time"), "{answer}");
        }
        for stream in self.deaf {
            let taken = rest(stream).len();
            assert!(taken > 0, "it was not answered");
            assert!(taken < ASKED * LARGE, "{taken} bytes: they did not wait");
        }
    }
}

#[track_caller]
fn connect(address: &str, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    stream.set_write_timeout(Some(wait::SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Returns what arrived before the connection ended, possibly with an error.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

fn port(address: &str) -> u16 {
    address.rsplit(':').next().unwrap().parse().unwrap()
}

/// The peers' ports of the connections that the listener on a port has open. The clients themselves would not notice: a
/// client that does not read never sees the end.
fn held(port: u16) -> BTreeSet<u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables = tables.iter().flatten();
    tables
        .flat_map(|table| table.lines().skip(1))
        .filter_map(|line| peer(line, port))
        .collect()
}

/// The peer's port in a line of `/proc/net/tcp`. A closed connection has no inode, even if its peer has not noticed
/// yet.
fn peer(line: &str, port: u16) -> Option<u16> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| u16::from_str_radix(fields.get(at)?.rsplit(':').next()?, 16).ok();
    let is_open = number(1)? == port && *fields.get(9)? != "0";
    is_open.then(|| number(2))?
}

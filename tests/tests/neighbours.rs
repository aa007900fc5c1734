//! Packs of two tenants at the same time: which addresses a pack can reach, and which it cannot.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;

use burst_tests::network::Cable;
use burst_tests::{Api, Driver, Platform, Settings, built, docker, wait};
use serde_json::{Value, json};

const NAME: &str = "escaping";
/// The metadata service, from which machines in clouds get their identity and its credentials.
const METADATA: &str = "169.254.169.254";
/// A documentation address, which exists in no network.
const INTERNET: &str = "198.51.100.7";

/// The same two for the test with sandboxes, and an address of this machine in that network.
const SANDBOXES: [&str; 2] = ["169.254.170.2", "203.0.113.7"];
const PUBLIC: &str = "203.0.113.9";

/// The kind of error that a worker got at each address; none if it connected.
type Errors = BTreeMap<SocketAddr, Option<String>>;

/// Another machine, which stands for the internet, and a server on it.
#[derive(Debug)]
struct Elsewhere {
    server: Child,
    port: u16,
    cable: Cable,
}

impl Elsewhere {
    fn find(addresses: [&str; 2]) -> Self {
        let cable = Cable::lay();
        addresses.iter().for_each(|at| cable.give(at));
        let port = burst_tests::port::free("127.0.0.1");
        let runtime = built::dist("bin/burst-runtime");
        let prefix = cable.prefix();
        let server = Command::new(&prefix[0])
            .args(&prefix[1..])
            .arg(runtime)
            .args(["serve", "--keep-open", "--listen"])
            .arg(format!("0.0.0.0:{port}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let elsewhere = Self {
            server,
            port,
            cable,
        };
        wait::until("the other machine answers", wait::SOON, || {
            (addresses.iter())
                .all(|at| std::net::TcpStream::connect((*at, port)).is_ok())
                .then_some(())
        });
        elsewhere
    }

    fn at(&self, address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), self.port)
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Opens a port on all addresses of this machine, and returns it.
fn here() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().for_each(drop));
    port
}

/// Creates a namespace in which the program is deployed.
#[track_caller]
fn tenant(platform: &Platform, name: &str, more: &[&str]) -> Api {
    let owner = platform
        .cli_setup()
        .properties(platform.data().join("properties"));
    let create = ["admin", "namespace", "create", name, "--output", "json"];
    let created = owner.run(&[&create[..], more].concat()).exits(0).json();
    let auth = created["auth"].as_str().unwrap();
    let program = built::program(NAME);
    let deploy = ["deploy", NAME, program.to_str().unwrap()];
    platform.cli_setup().auth(auth).run(&deploy).exits(0);
    Api::new(platform.api().base(), auth)
}

/// A request for a flare of two packs, with enough time for all visits on a busy machine.
fn of_two_packs(params: Value) -> Value {
    json!({"size": 2, "granularity": 1, "packing": "homogeneous", "memory": 64, "params": params,
        "timeout": 600_000})
}

/// Starts two packs that stay; returns the flare's id and the addresses on which its workers listen.
#[track_caller]
fn neighbour(api: &Api) -> (String, Vec<SocketAddr>) {
    let id = api.flare(NAME, &of_two_packs(json!({"try": "stay"})));
    api.all_wrote(&id, "listening on ");
    let logs = api.logs(&id).logs;
    let addresses = logs
        .iter()
        .filter_map(|line| line.line.strip_prefix("listening on "));
    (
        id,
        addresses.map(|address| address.parse().unwrap()).collect(),
    )
}

/// The errors that the two workers of a flare got: from peers, from their runtimes and from others.
#[track_caller]
fn visit(api: &Api, others: &[SocketAddr]) -> Vec<(Errors, Errors, Errors)> {
    let request = of_two_packs(json!({"try": "visit", "others": others}));
    let flare = api.flare_to_end(NAME, &request);
    assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    let outputs = api.result(&flare.flare_id).outputs;
    let read = |output: &Value, field: &str| serde_json::from_value(output[field].clone()).unwrap();
    (outputs.iter())
        .map(|worker| worker.read::<Value>().unwrap().unwrap())
        .map(|met| {
            (
                read(&met, "peers"),
                read(&met, "runtimes"),
                read(&met, "others"),
            )
        })
        .collect()
}

/// Addresses at which containers could reach this machine.
fn of_this_machine(containers: &[Value]) -> Vec<IpAddr> {
    let networks = containers[0]["NetworkSettings"]["Networks"]
        .as_object()
        .unwrap();
    let gateways = networks
        .values()
        .filter_map(|network| network["Gateway"].as_str()?.parse().ok());
    let mut addresses: Vec<IpAddr> = gateways.collect();
    assert!(!addresses.is_empty(), "{networks:#?}");
    addresses.push(docker::bridge_gateway().parse().unwrap());
    addresses
}

fn reached(errors: &Errors) -> Vec<SocketAddr> {
    (errors.iter())
        .filter(|(_, error)| error.is_none())
        .map(|(at, _)| *at)
        .collect()
}

fn containers_reach_only_their_flare(settings: Settings) {
    let elsewhere = Elsewhere::find([METADATA, INTERNET]);
    let port = here();
    let platform = Platform::start(settings);
    let closed = tenant(&platform, "closed", &[]);
    let open = tenant(&platform, "open", &["--egress"]);

    let (id, neighbours) = neighbour(&closed);
    assert_eq!(neighbours.len(), 2);
    let containers = platform.containers();
    let this_machine = of_this_machine(&containers);
    let gateway = platform
        .api()
        .address()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let mut forbidden = neighbours.clone();
    forbidden.extend(neighbours.iter().map(|at| SocketAddr::new(at.ip(), 8080)));
    forbidden.extend(this_machine.iter().map(|at| SocketAddr::new(*at, port)));
    forbidden.extend(this_machine.iter().map(|at| SocketAddr::new(*at, gateway)));
    forbidden.push(elsewhere.at(METADATA));
    let internet = elsewhere.at(INTERNET);
    let others = [&forbidden[..], &[internet]].concat();

    // Cold, then warm: a flare's permissions belong to the flare, not to the container.
    for _ in 0..2 {
        for (api, allowed) in [(&open, vec![internet]), (&closed, vec![])] {
            for (peers, runtimes, others) in visit(api, &others) {
                assert_eq!(peers.len(), 1, "{peers:?}");
                assert_eq!(reached(&peers).len(), 1, "{peers:?}");
                assert_eq!(reached(&runtimes), [], "{runtimes:?}");
                assert_eq!(reached(&others), allowed, "{others:#?}");
            }
        }
    }

    let neighbour = closed.status(&id);
    assert_eq!(neighbour.state, "running", "{:#?}", neighbour.error);
    closed.cancel(&id);
    closed.ended(&id);
}

/// A sandbox shares only its runtime's port with the machine, which nobody can reach from inside; it reaches the packs
/// of its flare through their sockets, and the internet through its shim.
fn sandboxes_reach_only_their_flare(settings: Settings) {
    let elsewhere = Elsewhere::find(SANDBOXES);
    elsewhere.cable.take(PUBLIC);
    let here = here();
    let platform = Platform::start(settings);
    let closed = tenant(&platform, "closed", &[]);
    let (id, neighbours) = neighbour(&closed);
    let ports = platform.footprint().ports;
    assert!(ports.len() > 2, "the API's, and the runtimes': {ports:?}");
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let mut forbidden: Vec<SocketAddr> = ports.into_iter().map(local).collect();
    forbidden.push(local(here));
    forbidden.extend(&neighbours);
    forbidden.push(elsewhere.at(SANDBOXES[0]));
    for address in [PUBLIC, elsewhere.cable.here()] {
        forbidden.push(SocketAddr::new(address.parse().unwrap(), here));
    }
    let internet = elsewhere.at(SANDBOXES[1]);
    let others = [&forbidden[..], &[internet]].concat();
    let open = tenant(&platform, "open", &["--egress"]);
    // Cold, then warm: a flare's permissions belong to the flare, not to the sandbox.
    for _ in 0..2 {
        for (api, allowed) in [(&open, vec![internet]), (&closed, vec![])] {
            for (peers, runtimes, others) in visit(api, &others) {
                assert!(
                    peers.is_empty() && runtimes.is_empty(),
                    "{peers:?} {runtimes:?}"
                );
                assert_eq!(reached(&others), allowed, "{others:#?}");
            }
        }
    }
    closed.cancel(&id);
    closed.ended(&id);
}

#[test]
fn a_sandbox_reaches_only_its_own_flare() {
    // One after another: both use the same other machine.
    sandboxes_reach_only_their_flare(Settings::new(Driver::Sandbox));
    sandboxes_reach_only_their_flare(Settings::new(Driver::Sandbox).as_root().prewarmed(2));
}

#[test]
fn a_container_reaches_only_its_own_flare() {
    containers_reach_only_their_flare(Settings::new(Driver::Docker));
    // One after another: both use the same other machine.
    containers_reach_only_their_flare(Settings::new(Driver::Docker).prewarmed(2));
}

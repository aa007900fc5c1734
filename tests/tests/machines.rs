//! Flares whose packs are on several machines and isolated on each: they find each other all the same, and strangers
//! cannot interfere.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};

use burst_client::{Flare, Group};
use burst_tests::cluster::Setup;
use burst_tests::collectives::{self, NAME};
use burst_tests::failing::{LONG, SHORT, holding};
use burst_tests::invariants::{self, Accepted};
use burst_tests::{Cluster, Driver, failing, processes, wait};
use serde_json::{Value, json};

/// Connections of strangers at each port: more than there is room for.
const CROWD: usize = 300;

/// Two invokers of four slots each.
fn two(driver: Driver) -> Setup {
    Setup::new(driver).invokers(2)
}

/// Every operation, with three packs of two workers on two machines: members of a pack, packs on one machine, and
/// others.
fn wanted(backend: &str) -> Value {
    json!({"size": 6, "params": {}, "granularity": 2, "packing": "homogeneous", "timeout": 240_000, "backend": backend})
}

/// Runs all operations on new packs and on warm ones.
#[track_caller]
fn all_operations(cluster: &Cluster, backends: &[&str]) {
    let mut accepted = Accepted::default();
    cluster.deploy(NAME);
    for backend in backends {
        for start in ["cold", "warm"] {
            let id = accepted.flare(cluster, NAME, &wanted(backend));
            let flare = accepted.ended(cluster, &id);
            assert_eq!(flare.state, "succeeded", "{flare:#?}");
            is_on_both(&flare);
            if *backend == backends[0] {
                let starts = flare.packs.iter().map(|pack| pack.start.clone());
                assert!(starts.flatten().all(|it| it == start), "{flare:#?}");
            }
            collectives::all_called(&cluster.api(), &id);
        }
    }
    accepted.check(cluster);
}

#[track_caller]
fn is_on_both(flare: &Flare) {
    let invokers: BTreeSet<_> = flare.packs.iter().map(|pack| &pack.invoker).collect();
    assert_eq!(invokers.len(), 2, "{flare:#?}");
}

/// The networks of these machines share nothing but a cable.
#[test]
fn sandboxes_on_two_machines_run_all_operations() {
    let cluster = Cluster::start(two(Driver::Sandbox).remote(1).redis());
    all_operations(&cluster, &["direct", "redis-list"]);
}

#[test]
fn root_sandboxes_of_two_invokers_run_all_operations() {
    let cluster = Cluster::start(two(Driver::Sandbox).as_root().redis());
    all_operations(&cluster, &["direct", "redis-list"]);
}

#[test]
fn sandboxes_and_processes_run_all_operations_together() {
    let mixed = two(Driver::Process).driver_of(1, Driver::Sandbox);
    all_operations(&Cluster::start(mixed.remote(1)), &["direct"]);
}

/// A group with packs on both machines.
struct Opened<'a> {
    cluster: &'a Cluster,
    id: String,
}

impl<'a> Opened<'a> {
    fn new(cluster: &'a Cluster, name: &str) -> Self {
        let request =
            json!({"definition": name, "size": 6, "granularity": 2, "packing": "homogeneous"});
        let id = cluster.api().try_group(&request).unwrap();
        let group = Self { cluster, id };
        let opened = group.becomes("open");
        let invokers: BTreeSet<_> = opened.packs.iter().map(|pack| &pack.invoker).collect();
        assert_eq!(invokers.len(), 2, "{opened:#?}");
        group
    }

    fn becomes(&self, state: &str) -> Group {
        let client = self.cluster.api().client().clone();
        let look = || client.get_group(&self.id).unwrap().read().unwrap();
        let what = format!("the group is {state}");
        wait::until_seen(&what, wait::SOON, look, |group: &Group| {
            group.state == state
        })
    }

    #[track_caller]
    fn runs(&self) {
        let api = self.cluster.api();
        let flare = api
            .try_flare_on(&self.id, &json!({"params": {}}))
            .map(|id| api.ended(&id));
        let flare = flare.unwrap();
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
    }

    fn close(self) {
        self.cluster.api().client().close_group(&self.id).unwrap();
        self.becomes("closed");
    }
}

/// Its flares use the same connections; strangers who crowd its packs' ports in the meantime keep nobody out.
#[test]
fn a_group_on_two_machines_runs_flares_despite_a_connection_flood() {
    let cluster = Cluster::start(two(Driver::Sandbox));
    cluster.deploy(NAME);
    let group = Opened::new(&cluster, NAME);
    let shims: BTreeSet<_> = (cluster.pack_processes().into_iter())
        .filter(|process| process.command.contains("burst-runtime sandbox"))
        .collect();
    let ports = processes::listening_ports(&shims);
    assert_eq!(ports.len(), 3, "{ports:?}");
    let crowd: Vec<TcpStream> = ports
        .iter()
        .flat_map(|port| (0..CROWD).map(|_| stranger(*port)))
        .collect();
    group.runs();
    group.runs();
    drop(crowd);
    group.close();
    Accepted::default().check(&cluster);
}

/// A connection that sends nothing, from an address that packs also have.
#[track_caller]
fn stranger(port: u16) -> TcpStream {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    TcpStream::connect_timeout(&address, wait::SOON).unwrap()
}

/// The packs on the other machine learn of it immediately, and nothing of either is left.
#[test]
fn killing_an_invoker_fails_a_flare_on_two_machines() {
    let (mut cluster, mut accepted) = invariants::cluster(two(Driver::Sandbox));
    let running = accepted.flare(&cluster, failing::NAME, &holding(8, LONG));
    cluster.api().all_wrote(&running, failing::MARK);
    cluster.kill_invoker(1);
    let flare = accepted.ended(&cluster, &running);
    assert_eq!(flare.state, "failed", "{flare:#?}");
    is_on_both(&flare);
    cluster.start_invoker(1);
    cluster.all_up();
    let again = accepted.flare(&cluster, failing::NAME, &holding(8, SHORT));
    let flare = accepted.ended(&cluster, &again);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    is_on_both(&flare);
    accepted.check(&cluster);
}

//! Nodes that prove to each other who they are: those who cannot are left outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burst_tests::account::{self, Account};
use burst_tests::certificates::{Authority, Certified};
use burst_tests::cluster::Setup;
use burst_tests::node::{self, Node};
use burst_tests::{Cluster, Driver, processes, wait};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(120);

/// The name that the nodes of a cluster share.
const CLUSTER: &str = "burst.test";

/// The settings of a node, by what their flag of `burst` is named.
fn files(keys: &Certified) -> [(&'static str, &str); 3] {
    [
        ("key", keys.key.to_str().unwrap()),
        ("certificate", keys.certificate.to_str().unwrap()),
        ("authority", keys.authority.to_str().unwrap()),
    ]
}

fn flags(keys: &Certified) -> Vec<String> {
    let flag = |(name, file): (&str, &str)| [format!("--tls-{name}"), file.to_owned()];
    files(keys).into_iter().flat_map(flag).collect()
}

#[test]
fn who_proves_nothing_stays_outside() {
    let directory = account::directory("burst-keys-");
    let authority = Authority::new(directory.path(), "own");
    let other = Authority::new(directory.path(), "other");
    let controller = authority.certify_node("controller", &[CLUSTER]);
    let invoker = authority.certify_node("invoker", &[CLUSTER]);
    let mut setup = Setup::new(Driver::Process).invokers(2);
    for (name, file) in files(&controller) {
        setup = setup.set(&format!("burst.cluster.tls.{name}"), file);
    }
    for (name, file) in files(&invoker) {
        setup = setup.set_invokers(&format!("burst.cluster.tls.{name}"), file);
    }
    let cluster = Cluster::start(setup);

    let strangers = [
        ("nobody", Vec::new()),
        (
            "stranger",
            flags(&other.certify_node("invoker", &[CLUSTER])),
        ),
        (
            "guest",
            flags(&authority.certify_node("guest", &["elsewhere.test"])),
        ),
    ];
    let turned_away = strangers
        .map(|(name, flags)| Outsider::start(directory.path(), name, cluster.seed(), &flags));
    turned_away.iter().for_each(Outsider::has_tried);

    // With the strangers at the door the cluster goes on, and knows nothing of them.
    cluster.deploy("hello");
    let request = json!({"size": 8, "params": {"name": "World"}});
    let id = cluster.api().flare("hello", &request);
    let flare = cluster.api().ended(&id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let invokers: Vec<_> = cluster.api().invokers().into_iter().map(|i| i.id).collect();
    assert_eq!(invokers, ["invoker0", "invoker1"]);
    // Their packs, which were started while they waited, end with them.
    for Outsider {
        node, name, data, ..
    } in turned_away
    {
        node::assert_good_end(name, node.terminate());
        let left = processes::of_platform(None, data.to_str().unwrap(), &data);
        assert!(left.is_empty(), "{name} has left {left:#?}");
    }
}

/// An invoker that looks for the cluster and is not of it.
struct Outsider {
    node: Node,
    name: &'static str,
    data: PathBuf,
}

impl Outsider {
    #[track_caller]
    fn start(directory: &Path, name: &'static str, seed: &str, flags: &[String]) -> Self {
        let data = directory.join(name);
        let arguments = [
            "invoker",
            "--id",
            name,
            "--node",
            "127.0.0.1",
            "--driver",
            "process",
        ];
        let more = ["--seed", seed, "--data", data.to_str().unwrap()];
        let arguments = arguments.into_iter().chain(more).map(String::from);
        let arguments: Vec<String> = arguments.chain(flags.iter().cloned()).collect();
        let said = directory.join(format!("{name}.log"));
        let account = Account::ordinary(Driver::Process);
        let command = node::burst(&[], &account, directory, &arguments);
        Self {
            node: Node::spawn(command, &said, &node::token(), LIMIT),
            name,
            data,
        }
    }

    /// Waits until it has said that nobody lets it in.
    #[track_caller]
    fn has_tried(&self) {
        let log = self.data.join("logs/burst.log");
        wait::until_seen(
            &format!("{} is turned away", self.name),
            LIMIT,
            || fs::read_to_string(&log).unwrap_or_default(),
            |log| log.contains("no controller answers"),
        );
    }
}

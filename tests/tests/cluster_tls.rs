//! Nodes that authenticate each other: nodes that cannot are kept out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burst_tests::account::{self, Account};
use burst_tests::certificates::{self, Authority, Certified};
use burst_tests::cluster::Setup;
use burst_tests::node::{self, Node};
use burst_tests::{Cluster, Driver, processes, wait};
use serde_json::json;

/// The lifetime of a node, which may wait for a busy machine several times, and the limit of each of these waits.
const LIMIT: Duration = Duration::from_secs(600);

/// The name that the nodes of a cluster share.
const CLUSTER: &str = "burst.test";

/// The TLS settings of a node, by the name of their `burst` flag.
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
fn a_node_without_valid_credentials_cannot_join() {
    let directory = account::directory("burst-keys-");
    let authority = Authority::new(directory.path(), "own");
    let other = Authority::new(directory.path(), "other");
    let controller = authority.certify_node("controller", &[CLUSTER]);
    let invoker = authority.certify_node("invoker", &[CLUSTER]);
    let mut setup = one();
    for (name, file) in files(&controller) {
        setup = setup.set(&format!("burst.cluster.tls.{name}"), file);
    }
    for (name, file) in files(&invoker) {
        setup = setup.set_invokers(&format!("burst.cluster.tls.{name}"), file);
    }
    let cluster = Cluster::start(setup);

    let strangers = [
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

    cluster_works(&cluster);
    // Their packs, which were started while they waited, end with them.
    for Outsider {
        node, name, data, ..
    } in turned_away
    {
        node::assert_clean_exit(name, node.terminate());
        let left = processes::of_platform(None, data.to_str().unwrap(), &data);
        assert!(left.is_empty(), "{name} has left {left:#?}");
    }
}

#[test]
fn a_node_with_the_cluster_key_joins_under_an_unused_id() {
    let directory = account::directory("burst-keys-");
    let cluster = Cluster::start(one());
    let mode = fs::metadata(cluster.key()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let key = |file: &Path| vec!["--cluster-key".into(), file.to_str().unwrap().into()];

    // Without a key, or under an id that is taken, an invoker ends with one sentence.
    let keyless = Outsider::start(directory.path(), "nobody", cluster.seed(), &[]);
    let log = keyless.ends_with_1();
    assert!(
        log.contains("cluster.pem") && log.contains("--cluster-key FILE"),
        "{log}"
    );
    let double = Outsider::start(
        directory.path(),
        "invoker0",
        cluster.seed(),
        &key(&cluster.key()),
    );
    let log = double.ends_with_1();
    assert!(log.contains("has the id invoker0 and is up"), "{log}");

    // With a key of another cluster it is kept out.
    let other = certificates::cluster_key(cluster.scratch());
    let stranger = Outsider::start(directory.path(), "stranger", cluster.seed(), &key(&other));
    stranger.has_tried();
    cluster_works(&cluster);
    node::assert_clean_exit("stranger", stranger.node.terminate());
}

/// A cluster with one invoker, which has room for all.
fn one() -> Setup {
    Setup::new(Driver::Process).invokers(1).slots(8)
}

/// Checks that the cluster runs flares and knows no invoker but its own.
#[track_caller]
fn cluster_works(cluster: &Cluster) {
    cluster.deploy("hello");
    let request = json!({"size": 8, "params": {"name": "World"}});
    let flare = cluster.api().flare_to_end("hello", &request);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let invokers: Vec<_> = cluster.api().invokers().into_iter().map(|i| i.id).collect();
    assert_eq!(invokers, ["invoker0"]);
}

/// An invoker that looks for the cluster but does not belong to it.
struct Outsider {
    node: Node,
    name: &'static str,
    data: PathBuf,
    log: PathBuf,
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
        // It reports that nobody answers once it has sent Hello ten times.
        let soon = ["--set", "burst.invoker.heartbeat-interval=250ms"];
        let arguments = arguments
            .into_iter()
            .chain(more)
            .chain(soon)
            .map(String::from);
        let arguments: Vec<String> = arguments.chain(flags.iter().cloned()).collect();
        let log = directory.join(format!("{name}.log"));
        let account = Account::ordinary(Driver::Process);
        let command = node::burst(&[], &account, directory, &arguments);
        Self {
            node: Node::spawn(command, &log, &node::token(), LIMIT),
            name,
            data,
            log,
        }
    }

    /// Waits until it has ended with exit code 1, and returns the one sentence that it printed.
    #[track_caller]
    fn ends_with_1(mut self) -> String {
        let ended = wait::until("it ends", LIMIT, || self.node.ended());
        let log = node::read_log(&self.log);
        assert_eq!(ended.code(), Some(1), "{log}");
        let mut sentences = log.lines().filter(|line| line.starts_with("burst: "));
        let sentence = sentences
            .next()
            .unwrap_or_else(|| panic!("{log}"))
            .to_owned();
        assert_eq!(sentences.next(), None, "{log}");
        sentence
    }

    /// Waits until it has reported that no controller lets it in.
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

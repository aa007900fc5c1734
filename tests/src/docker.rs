//! What the docker tests need from the docker daemon.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::{command, wait};

const LIMIT: Duration = wait::SOON;

/// Runs `docker` and returns its standard output; without a daemon, the test fails with a hint on how to start one.
#[track_caller]
pub fn docker(arguments: &[&str]) -> String {
    let finished = command::run(Command::new("docker").args(arguments), LIMIT);
    assert_eq!(
        finished.code,
        Some(0),
        "docker {arguments:?} failed: {}\nThe docker tests need the Debian package docker.io and a \
         running dockerd: `tests/prepare.sh` installs and starts them.",
        finished.stderr
    );
    finished.stdout
}

/// Fails the test unless docker packs can be run here.
#[track_caller]
pub fn require() {
    docker(&["info"]);
    let image = docker(&["images", "--quiet", "burst-runtime"]);
    assert!(
        !image.trim().is_empty(),
        "the image burst-runtime is missing: run `make image` first"
    );
}

/// Every container that mentions `text` (a data directory, an instance's id) in its labels, mounts
/// or arguments, as `docker inspect` shows it; running or not.
pub fn containers_mentioning(text: &str) -> Vec<Value> {
    let ids = docker(&["ps", "--all", "--quiet", "--no-trunc"]);
    ids.lines()
        .filter_map(inspect)
        .filter(|shown| shown.to_string().contains(text))
        .collect()
}

/// Returns whether a container holds a platform's network for packs, and is not a pack itself.
pub fn keeps_network(container: &Value) -> bool {
    !container["Config"]["Labels"]["burst.network"].is_null()
}

/// Names of the networks that belong to this invoker.
pub fn networks_of(owner: &str) -> Vec<String> {
    let label = format!("label=burst.owner={owner}");
    let listed = docker(&["network", "ls", "--format", "{{.Name}}", "--filter", &label]);
    listed.lines().map(str::to_owned).collect()
}

/// Removes a network; a missing one is not an error.
pub fn remove_network(name: &str) {
    command::run(Command::new("docker").args(["network", "rm", name]), LIMIT);
}

/// Returns whether Docker considers a network in use although nothing is attached to it, which lasts until the daemon
/// is restarted: when many containers end at once, version 20 sometimes counts one too few.
pub fn miscounts(network: &str) -> bool {
    let remove = ["network", "rm", network];
    let refused = command::run(Command::new("docker").args(remove), LIMIT);
    if !refused.stderr.contains("has active endpoints") {
        return false;
    }
    let attached = docker(&[
        "network",
        "inspect",
        "--format",
        "{{len .Containers}}",
        network,
    ]);
    eprintln!("docker does not let go of the network {network}, which {attached} are on");
    attached.trim() == "0"
}

/// A container's id.
pub fn id(container: &Value) -> String {
    container["Id"].as_str().unwrap_or_default().to_owned()
}

/// Removes a container by force; a missing one is not an error.
pub fn remove(container: &str) {
    command::run(
        Command::new("docker").args(["rm", "--force", container]),
        LIMIT,
    );
}

/// Removes an image; a missing one is not an error.
pub fn remove_image(name: &str) {
    let mut remove = Command::new("docker");
    command::run(remove.args(["rmi", "--force", name]), LIMIT);
}

/// The address at which containers on the default bridge reach this machine. Some daemons report only the subnet, whose
/// first address is the bridge's.
#[track_caller]
pub fn bridge_gateway() -> String {
    let format = "{{range .IPAM.Config}}{{.Gateway}} {{.Subnet}}{{end}}";
    let output = docker(&["network", "inspect", "bridge", "--format", format]);
    let (gateway, subnet) = output
        .trim_end()
        .split_once(' ')
        .expect("a bridge with a subnet");
    if !gateway.is_empty() {
        return gateway.to_owned();
    }
    let network: Ipv4Addr = subnet.split('/').next().unwrap().parse().unwrap();
    Ipv4Addr::from_bits(network.to_bits() + 1).to_string()
}

/// Returns one container as JSON; none if it has been removed in the meantime.
fn inspect(container: &str) -> Option<Value> {
    let finished = command::run(Command::new("docker").args(["inspect", container]), LIMIT);
    let shown: Value = serde_json::from_str(&finished.stdout).ok()?;
    shown.get(0).cloned()
}

//! A group continues when the scheduler moves to another controller, with the flares that run on it and those that wait
//! for it.

use std::collections::BTreeSet;
use std::fs;

use burst_client::Group;
use burst_tests::invariants::Accepted;
use burst_tests::{Cluster, failing, wait};
use serde_json::{Value, json};

use super::{await_next_scheduler, two};

const SIZE: u32 = 10;

/// A group with packs of two workers, on more than one machine.
struct Opened {
    id: String,
}

impl Opened {
    #[track_caller]
    fn on(cluster: &Cluster) -> Self {
        let request = json!({"definition": failing::NAME, "size": SIZE, "granularity": 2, "packing": "homogeneous"});
        let accepted = cluster.api().client().open_group(&request).unwrap();
        let opened = Self {
            id: accepted.read().unwrap().group_id,
        };
        let open = opened.becomes(cluster, "open");
        let machines: BTreeSet<&String> = open.packs.iter().map(|pack| &pack.invoker).collect();
        assert_eq!(machines.len(), 2, "{open:#?}");
        opened
    }

    #[track_caller]
    fn becomes(&self, cluster: &Cluster, state: &str) -> Group {
        let look = || {
            let group = cluster.api().client().get_group(&self.id);
            group.unwrap().read().unwrap()
        };
        wait::until_seen("the group's state", wait::SOON, look, |group| {
            group.state == state
        })
    }

    #[track_caller]
    fn flare(&self, cluster: &Cluster, params: &Value) -> String {
        let body = json!({"params": params, "timeout": failing::LONG_TIMEOUT});
        let accepted = cluster.api().client().flare_on_group(&self.id, &body);
        accepted.unwrap().read().unwrap().flare_id
    }
}

/// The number of the call, and the processes of the workers.
#[track_caller]
fn counted(cluster: &Cluster, id: &str) -> (u32, BTreeSet<String>) {
    let flare = cluster.api().ended(id);
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
    let outcome = cluster.api().result(id);
    let outputs: Vec<String> = outcome
        .outputs
        .iter()
        .map(|output| output.read().unwrap().unwrap())
        .collect();
    let (calls, processes): (BTreeSet<&str>, BTreeSet<&str>) =
        outputs.iter().map(|it| it.split_once(' ').unwrap()).unzip();
    assert_eq!(
        calls.len(),
        1,
        "all workers know the same number: {outputs:?}"
    );
    let call = calls.first().unwrap().parse().unwrap();
    (call, processes.into_iter().map(str::to_owned).collect())
}

#[test]
fn a_group_keeps_running_and_queued_flares_across_a_handover() {
    let mut cluster = Cluster::start(two());
    cluster.deploy(failing::NAME);
    let group = Opened::on(&cluster);
    let (call, processes) = counted(&cluster, &group.flare(&cluster, &failing::count()));
    assert_eq!(call, 1);

    let over = cluster.scratch().join("over");
    let running = group.flare(&cluster, &failing::hold_until(&over, failing::LONG));
    wait::until_seen(
        "it runs",
        wait::SOON,
        || cluster.api().status(&running),
        |flare| flare.state == "running",
    );
    let waiting = group.flare(&cluster, &failing::count());
    let (epoch, scheduler) = (cluster.epoch(), cluster.scheduler());
    cluster.kill_controller(scheduler);
    await_next_scheduler(&cluster, epoch);
    cluster.all_up_again();
    assert_eq!(cluster.api().status(&running).state, "running");
    assert_eq!(cluster.api().status(&waiting).state, "queued");
    fs::write(&over, "").unwrap();
    let held = cluster.api().ended(&running);
    assert_eq!(held.state, "succeeded", "{held:#?}");
    // Its workers have found the state they left before.
    assert_eq!(counted(&cluster, &waiting), (2, processes.clone()));

    // It is idle while the scheduler changes once more.
    cluster.start_controllers(&[scheduler]);
    let (epoch, scheduler) = (cluster.epoch(), cluster.scheduler());
    cluster.stop_controller(scheduler);
    await_next_scheduler(&cluster, epoch);
    cluster.all_up_again();
    let last = group.flare(&cluster, &failing::count());
    assert_eq!(counted(&cluster, &last), (3, processes));
    cluster.api().client().close_group(&group.id).unwrap();
    group.becomes(&cluster, "closed");
    Accepted::default().check(&cluster);
}

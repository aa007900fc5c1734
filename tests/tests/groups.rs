//! Groups: packs that stay for several flares, whose workers find the state they left; and every
//! way in which a group ends, after which all its slots are free (issue 4, scheduling).

use std::collections::BTreeSet;
use std::fs;

use burst_client::{Flare, Group, ListFlaresQuery, ListGroupsQuery};
use burst_tests::{
    Driver, Loan, Platform, Redis, Settings, failing, node, processes, read_json, refused, wait,
};
use serde_json::{Value, json};

const SIZE: u32 = 4;

fn platform(driver: Driver) -> Loan {
    let platform = Platform::lent(Settings::new(driver));
    failing::deploy(&platform);
    platform
}

/// A group of two packs.
struct Opened<'a> {
    platform: &'a Platform,
    id: String,
}

impl<'a> Opened<'a> {
    fn new(platform: &'a Platform, options: Value) -> Self {
        let mut request = json!({"definition": failing::NAME, "size": SIZE, "granularity": 2,
                                 "packing": "homogeneous"});
        let fields = request.as_object_mut().unwrap();
        fields.extend(options.as_object().unwrap().clone());
        let accepted = platform.api().client().open_group(&request).unwrap();
        let id = accepted.read().unwrap().group_id;
        Self { platform, id }
    }

    fn status(&self) -> Group {
        let group = self.platform.api().client().get_group(&self.id);
        group.unwrap().read().unwrap()
    }

    fn open(self) -> Self {
        let seen = self.becomes("open");
        assert_eq!(seen.packs.len(), 2, "{seen:#?}");
        self
    }

    fn becomes(&self, state: &str) -> Group {
        let what = format!("the group is {state}");
        let seen = wait::until_seen(
            &what,
            wait::SOON,
            || self.status(),
            |group| group.state == state || group.state == "closed",
        );
        assert_eq!(seen.state, state, "{seen:#?}");
        seen
    }

    fn flare(&self, params: &Value) -> String {
        let client = self.platform.api().client();
        let body = json!({"params": params, "timeout": failing::LONG_TIMEOUT});
        let accepted = client.flare_on_group(&self.id, &body);
        accepted.unwrap().read().unwrap().flare_id
    }

    fn run(&self, params: &Value) -> Flare {
        self.platform.api().ended(&self.flare(params))
    }

    /// The number of a call, and the processes of its workers, as the workers report them.
    fn count(&self) -> (u32, BTreeSet<u32>) {
        let flare = self.run(&failing::count());
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
        assert_eq!(flare.group_id.as_ref(), Some(&self.id));
        let outcome = self.platform.api().result(&flare.flare_id);
        let outputs = outcome.outputs.iter().map(|output| {
            let output: String = output.read().unwrap().unwrap();
            let (call, process) = output.split_once(' ').unwrap();
            (
                call.parse::<u32>().unwrap(),
                process.parse::<u32>().unwrap(),
            )
        });
        let (calls, processes): (BTreeSet<u32>, BTreeSet<u32>) = outputs.unzip();
        assert_eq!(
            calls.len(),
            1,
            "all workers know the same number: {calls:?}"
        );
        (calls.into_iter().next().unwrap(), processes)
    }

    fn close(&self) {
        self.platform.api().client().close_group(&self.id).unwrap();
    }

    /// Checks that it has ended: it takes no flares, and its slots are free.
    fn has_ended(&self) -> Group {
        let group = self.becomes("closed");
        let client = self.platform.api().client();
        let refused = refused(client.flare_on_group(&self.id, &json!({})), 409);
        assert!(refused.contains("open another one"), "{refused}");
        let all = self.platform.slots();
        let free = || self.platform.api().free_slots();
        wait::until_seen("its slots are free", wait::SOON, free, |free| *free == all);
        group
    }
}

fn keeps_its_state(driver: Driver) {
    let platform = platform(driver);
    let group = Opened::new(&platform, json!({})).open();
    assert_eq!(platform.api().free_slots(), platform.slots() - SIZE);
    let (call, processes) = group.count();
    assert_eq!(call, 1);
    for call in [2, 3] {
        assert_eq!(group.count(), (call, processes.clone()));
    }
    assert_eq!(platform.api().free_slots(), platform.slots() - SIZE);
    // Another group, and a flare without one, start afresh.
    let other = Opened::new(&platform, json!({})).open();
    assert_eq!(other.count().0, 1);
    other.close();
    other.becomes("closed");
    let alone = platform.api().run(failing::NAME, SIZE, &failing::count());
    assert_eq!(alone.state, "succeeded", "{alone:#?}");
    assert_eq!(group.count(), (4, processes));
    group.close();
    let error = group.has_ended().error;
    assert!(error.is_none(), "being closed is no error: {error:?}");
    refused(platform.api().client().close_group(&group.id), 409);
}

#[test]
fn process_packs_keep_their_state_between_flares() {
    keeps_its_state(Driver::Process);
}

#[test]
fn docker_packs_keep_their_state_between_flares() {
    keeps_its_state(Driver::Docker);
}

#[test]
fn sandboxes_keep_their_state_between_flares() {
    keeps_its_state(Driver::Sandbox);
}

/// The sockets of the programs of these packs.
fn sockets(programs: &BTreeSet<u32>) -> BTreeSet<String> {
    programs
        .iter()
        .copied()
        .flat_map(processes::sockets)
        .collect()
}

/// Checks that the connections between packs made in the first flare are used by the next ones.
fn stays_connected(platform: &Platform) {
    failing::deploy(platform);
    let group = Opened::new(platform, json!({})).open();
    let (_, programs) = group.count();
    let first = sockets(&programs);
    for call in 2..5 {
        assert_eq!(group.count(), (call, programs.clone()));
        // One or another may break and be made again; otherwise all would have been.
        let now = sockets(&programs);
        let kept = now.intersection(&first).count();
        assert!(kept > first.len() / 2, "{first:?} became {now:?}");
    }
    group.close();
    group.has_ended();
}

#[test]
fn packs_stay_connected_between_flares() {
    stays_connected(&Platform::lent(Settings::new(Driver::Process)));
}

#[test]
fn packs_stay_connected_to_redis_and_leave_no_keys() {
    let redis = Redis::start();
    let settings = Settings::new(Driver::Process).backend("redis-list", &redis.uri());
    let platform = Platform::start(settings);
    stays_connected(&platform);
    // Before the server would delete it by itself.
    wait::until_seen(
        "nothing is left",
        wait::SOON,
        || redis.keys(),
        Vec::is_empty,
    );
    drop(platform);
    assert_eq!(redis.keys(), Vec::<String>::new());
    assert_eq!(redis.users(), ["default"]);
}

#[test]
fn a_group_runs_one_flare_at_a_time_in_order() {
    let platform = platform(Driver::Process);
    let rest = platform.slots() - SIZE + 1;
    let before = platform
        .api()
        .flare(failing::NAME, &failing::holding(rest, failing::LONG));
    platform.api().in_state(&before, "running");
    let group = Opened::new(&platform, json!({}));
    assert_eq!(group.status().state, "queued");
    let first = group.flare(&failing::count());
    let second = group.flare(&failing::count());
    assert_eq!(platform.api().status(&first).state, "queued");
    let queue = |id: &str| read_json(platform.api().client().get_flare(id))["queue"].clone();
    // A slow scheduler is not waited for: the position is then not shown.
    let position = |id: &str| {
        let shown = wait::until_seen(
            "its position is shown",
            wait::SOON,
            || queue(id),
            Value::is_object,
        );
        shown["position"].clone()
    };
    assert_eq!((position(&first), position(&second)), (json!(1), json!(2)));
    // A flare that waits for its turn can be cancelled without affecting others.
    let third = group.flare(&failing::count());
    platform.api().cancel(&third);
    assert_eq!(platform.api().ended(&third).state, "cancelled");
    platform.api().cancel(&before);
    let (first, second) = (platform.api().ended(&first), platform.api().ended(&second));
    assert_eq!(
        (first.state.as_str(), second.state.as_str()),
        ("succeeded", "succeeded")
    );
    assert!(first.ended <= second.started, "{first:#?} {second:#?}");
    assert_eq!(group.count().0, 3);
    group.close();
    group.has_ended();
}

#[test]
fn every_end_of_a_group_frees_its_slots() {
    let platform = platform(Driver::Process);
    let api = platform.api();

    let idle = Opened::new(&platform, json!({"idleTimeout": 300}));
    let error = idle.has_ended().error.expect("a reason");
    assert_eq!(error.kind, "timeout", "{error:?}");

    let failing_flare = Opened::new(&platform, json!({})).open();
    assert_eq!(failing_flare.count().0, 1);
    let flare = failing_flare.run(&failing::input("panic", 3));
    assert_eq!(flare.state, "failed", "{flare:#?}");
    let error = failing_flare.has_ended().error.expect("a reason");
    assert_eq!(
        (error.kind.as_str(), error.worker),
        ("panic", Some(3)),
        "{error:?}"
    );

    let cancelled = Opened::new(&platform, json!({})).open();
    let running = cancelled.flare(&failing::hold(failing::LONG));
    let waiting = cancelled.flare(&failing::count());
    api.all_wrote(&running, failing::MARK);
    api.cancel(&running);
    assert_eq!(api.ended(&running).state, "cancelled");
    let waited = api.ended(&waiting);
    assert_eq!(waited.state, "failed", "{waited:#?}");
    assert_eq!(waited.error.expect("a reason").kind, "pack-lost");
    assert_eq!(
        cancelled.has_ended().error.expect("a reason").kind,
        "cancelled"
    );

    let closed = Opened::new(&platform, json!({})).open();
    let running = closed.flare(&failing::hold(failing::LONG));
    api.all_wrote(&running, failing::MARK);
    closed.close();
    assert!(closed.has_ended().error.is_none());
    assert_eq!(api.ended(&running).state, "cancelled");

    // A runtime that dies ends its group immediately; a program that dies ends it with the next
    // flare.
    let (_, programs) = counted(&platform, "killed runtime", |program| {
        node::kill(parent_of(program));
    });
    assert_eq!(programs, 2);
    counted(&platform, "killed program", node::kill);
    let flare = api.run(failing::NAME, platform.slots(), &failing::succeed());
    assert_eq!(flare.state, "succeeded", "{flare:#?}");
}

/// Kills a process of the second pack of a group that waits for its next flare.
fn counted(platform: &Platform, what: &str, kill: impl Fn(u32)) -> (Group, usize) {
    let group = Opened::new(platform, json!({})).open();
    let (_, processes) = group.count();
    kill(*processes.last().unwrap());
    // The platform may not have noticed yet.
    let request = json!({"params": failing::count()});
    if let Some(id) = platform.api().try_flare_on(&group.id, &request) {
        let flare = platform.api().ended(&id);
        assert_eq!(flare.state, "failed", "{what}: {flare:#?}");
    }
    let ended = group.has_ended();
    assert!(ended.error.is_some(), "{what}: {ended:#?}");
    (ended, processes.len())
}

fn parent_of(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.unwrap().trim().parse().unwrap()
}

#[test]
fn a_restart_closes_groups_with_a_reason() {
    let mut platform = Platform::start(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let id = Opened::new(&platform, json!({})).open().id;
    platform.kill();
    platform.start_again();
    let group = Opened {
        platform: &platform,
        id,
    };
    let error = group.has_ended().error.expect("a reason");
    assert_eq!(error.kind, "controller-restarted", "{error:?}");
}

#[test]
fn the_command_line_opens_uses_and_closes_a_group() {
    let platform = platform(Driver::Process);
    let open = [
        "group",
        "open",
        failing::NAME,
        "--size",
        "2",
        "--blocking",
        "--output",
        "json",
    ];
    let opened = platform.cli(&open).exits(0).json();
    let id = opened["groupId"].as_str().unwrap();
    for call in ["1", "2"] {
        let flare = ["group", "flare", id, "--param", "how", "count", "--result"];
        let outputs = platform.cli(&flare).exits(0).json();
        let output = outputs[0].as_str().unwrap();
        assert!(output.starts_with(call), "{outputs}");
    }
    let shown = platform.cli(&["group", "get", id]).exits(0).stdout;
    assert!(shown.contains("open"), "{shown}");
    platform.cli(&["group", "close", id]).exits(0);
    platform.cli(&["group", "close", id]);
    let listed = platform.cli(&["group", "list"]).exits(0).stdout;
    // For people, the beginning of an id is enough.
    assert!(listed.contains(&id[..12]), "{listed}");
    platform
        .cli(&["group", "flare", id])
        .exits(5)
        .complains_of("has ended");
}

#[test]
fn invalid_requests_are_refused_with_the_reason() {
    let platform = platform(Driver::Process);
    let client = platform.api().client();
    let named = |size: u32| json!({"definition": failing::NAME, "size": size});
    for (request, status, named) in [
        (named(0), 400, "size"),
        (named(9), 400, "8 slots"),
        (json!({"size": 1}), 400, "definition"),
        (json!({"definition": "none", "size": 1}), 404, "none"),
        (
            json!({"definition": failing::NAME, "size": 1, "retries": 1}),
            400,
            "retries",
        ),
    ] {
        let refused = refused(client.open_group(&request), status);
        assert!(refused.contains(named), "{refused}");
    }
    refused(client.get_group("0"), 400);
    let unknown = "0".repeat(32);
    refused(client.get_group(&unknown), 404);
    refused(client.flare_on_group(&unknown, &json!({})), 404);
    refused(client.close_group(&unknown), 404);
    let group = Opened::new(&platform, json!({})).open();
    let two = json!({"params": [failing::count(), failing::count()]});
    let size = refused(client.flare_on_group(&group.id, &two), 400);
    assert!(size.contains('4'), "{size}");
    // A group is not a flare, nor vice versa.
    refused(client.get_flare(&group.id), 404);
    let flares = client.list_flares(&ListFlaresQuery::default());
    assert_eq!(read_json(flares), json!([]));
    let groups = client.list_groups(&ListGroupsQuery::default());
    assert_eq!(read_json(groups)[0]["groupId"], json!(group.id));
    group.close();
    group.has_ended();
}

//! Work that no client retries is not lost when controllers end: steps of a sequence, the actions of rules, and calls
//! whose clients have given no key.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use burst_client::GetActionQuery;
use burst_tests::{Api, Cluster, account, read_json, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{LIMIT, two};

/// Records that it runs, and ends once a file exists if it is given one.
const ADD: &str = "
import os, time

def main(args):
    runs = os.open(args['runs'], os.O_WRONLY | os.O_APPEND)
    os.write(runs, b'ran\\n')
    os.close(runs)
    while 'until' in args and not os.path.exists(args['until']):
        time.sleep(0.05)
    return {'n': args.get('n', 0) + 1}
";

#[test]
fn sequences_rules_and_calls_are_started_while_no_scheduler_runs() {
    // The platform retries for twice this time, and a busy machine needs a while to have another scheduler.
    let mut cluster = Cluster::start(two().set("burst.scheduler.ask-timeout", "40s"));
    let runs = create(&cluster);
    let scheduler = cluster.scheduler();
    let api = cluster.api_of(1 - scheduler);
    cluster.kill_controller(scheduler);
    let sequence = begin(&api, "actions/twice", &json!({}));
    let (fire, call) = thread::scope(|scope| {
        let fire = scope.spawn(|| begin(&api, "triggers/tick", &json!({})));
        let call = scope.spawn(|| begin(&api, "actions/add", &json!({})));
        (fire.join().unwrap(), call.join().unwrap())
    });
    let result = |id: &str| record(&api, id)["response"]["result"].clone();
    assert_eq!(result(&sequence), json!({"n": 2}));
    assert_eq!(result(&call), json!({"n": 1}));
    let logs = record(&api, &fire)["logs"].clone();
    let rule: Value = serde_json::from_str(logs[0].as_str().unwrap()).unwrap();
    let ran = rule["activationId"].as_str();
    let ran = ran.unwrap_or_else(|| panic!("it was not begun: {rule}"));
    assert_eq!(result(ran), json!({"n": 1}));
    assert_eq!(ran_times(&runs), 4, "each ran once");
}

#[test]
fn a_stopping_controller_waits_for_its_sequences() {
    let mut cluster = Cluster::start(two().set("burst.drain-timeout", "10m"));
    let runs = create(&cluster);
    let over = cluster.scratch().join("over");
    let leaving = 1 - cluster.scheduler();
    let sequence = begin(
        &cluster.api_of(leaving),
        "actions/twice",
        &json!({"until": over}),
    );
    wait::until("its first step runs", LIMIT, || {
        (ran_times(&runs) == 1).then_some(())
    });
    cluster.signal_controller(leaving, Signal::TERM);
    let asked = cluster.api_of(leaving);
    wait::until("it is not ready any more", LIMIT, || {
        let request = asked.client().http().get(format!("{}/ready", asked.base()));
        let state = asked.send(request).json["process"].clone();
        (state != "ok").then(|| assert_eq!(state, "it is about to stop"))
    });
    // It still serves requests: it would have ended if nothing were running.
    let query = GetActionQuery::default();
    asked.client().get_action("add", &query).unwrap();
    fs::write(&over, "").unwrap();
    // It has already been signalled; this waits for its end.
    cluster.stop_controller(leaving);
    let api = cluster.api_of(1 - leaving);
    let record = read_json(api.client().get_activation(&sequence));
    assert_eq!(record["response"]["result"], json!({"n": 2}), "{record:#}");
    assert_eq!(ran_times(&runs), 2);
}

/// Begins a call of a path with a plain request: the client would add a key.
#[track_caller]
fn begin(api: &Api, path: &str, payload: &Value) -> String {
    let begun: Value = api.post(path, payload).expect(202);
    begun["activationId"].as_str().unwrap().to_owned()
}

/// Creates an action, a sequence that runs it twice, and a trigger that fires it. Returns the file in which its runs
/// are recorded.
#[track_caller]
fn create(cluster: &Cluster) -> PathBuf {
    let runs = cluster.scratch().join("runs");
    fs::write(&runs, "").unwrap();
    account::give(&runs);
    let api = cluster.api();
    let program = json!({"kind": "python:default", "code": ADD});
    let parameters = json!([{"key": "runs", "value": runs}]);
    let add = json!({"exec": program, "parameters": parameters});
    api.put_action("add", &add);
    let steps = json!({"kind": "sequence", "components": ["/_/add", "/_/add"]});
    api.put_action("twice", &json!({ "exec": steps }));
    api.put_trigger("tick");
    api.put_rule("on-tick", "tick", "add");
    runs
}

#[track_caller]
fn ran_times(runs: &Path) -> usize {
    fs::read_to_string(runs).unwrap().lines().count()
}

#[track_caller]
fn record(api: &Api, id: &str) -> Value {
    wait::until("it has a record", LIMIT, || api.activation_amid_faults(id))
}

//! The invariants that must hold after any fault.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::Setup;
use crate::traffic::Sent;
use crate::{Api, Cluster, failing, read_json, wait};
use burst_client::{Body, Flare, FlareState, Group, ListFlaresQuery};

/// Longer than anything a flare waits for once it has its slots: its timeout, the timeout of a lost invoker, and the
/// clean-up of packs and backends.
const LIMIT: Duration = Duration::from_secs(300);

/// Every flare that a cluster accepted, with the final records of those that were seen to end; and every group.
#[derive(Debug, Default)]
pub struct Accepted {
    flares: BTreeMap<String, Option<Value>>,
    groups: BTreeSet<String>,
}

/// Starts a cluster on which `failing` is deployed and which has accepted nothing yet.
#[track_caller]
pub fn cluster(setup: Setup) -> (Cluster, Accepted) {
    let cluster = Cluster::start(setup);
    cluster.deploy(failing::NAME);
    (cluster, Accepted::default())
}

impl Accepted {
    /// Starts a flare and records it.
    #[track_caller]
    pub fn flare(&mut self, cluster: &Cluster, name: &str, body: &Value) -> String {
        let id = cluster.api().flare(name, body);
        self.flares.insert(id.clone(), None);
        id
    }

    /// Records what somebody else has started.
    pub fn note(&mut self, sent: Sent) {
        self.flares
            .extend(sent.flares.into_iter().map(|id| (id, None)));
        self.groups.extend(sent.groups);
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of flares that have ended, by final state.
    pub fn ends(&self) -> BTreeMap<String, usize> {
        let mut ends = BTreeMap::new();
        for known in self.flares.values().flatten() {
            let state = known[0]["state"].as_str().unwrap_or_default();
            *ends.entry(state.to_owned()).or_default() += 1;
        }
        ends
    }

    /// Waits until a flare ends and records its outcome, which must not change from then on.
    #[track_caller]
    pub fn ended(&mut self, cluster: &Cluster, id: &str) -> Flare {
        let flare = cluster.api().ended(id);
        self.flares.insert(id.to_owned(), Some(kept(cluster, id)));
        flare
    }

    /// Checks that every accepted flare reaches exactly one final state, with one output or error per worker; that
    /// those which had already ended are unchanged; that every group is closed, all slots become free, nothing runs but
    /// packs kept warm, and no backend keeps anything.
    #[track_caller]
    pub fn check(&mut self, cluster: &Cluster) {
        let api = cluster.api();
        drained(&api);
        for (id, known) in &mut self.flares {
            let look = || api.status(id);
            let flare = wait::until_seen("the flare ends", LIMIT, look, |flare: &Flare| {
                flare.state.is_final()
            });
            let result = api.result(id);
            assert_eq!(result.outputs.len(), flare.size as usize, "{flare:#?}");
            for output in &result.outputs {
                let reports = u8::from(output.output.is_some()) + u8::from(output.error.is_some());
                assert_eq!(
                    reports, 1,
                    "one output or error per worker: {output:#?} {flare:#?}"
                );
            }
            if flare.state == "succeeded" {
                let all = result.outputs.iter().all(|output| output.output.is_some());
                assert!(all && flare.error.is_none(), "{flare:#?} {result:#?}");
            } else {
                assert!(flare.error.is_some(), "a reason: {flare:#?}");
            }
            let now = kept(cluster, id);
            assert_eq!(known.get_or_insert_with(|| now.clone()), &now, "it changed");
        }
        for id in &self.groups {
            let look = || api.client().get_group(id).unwrap().read().unwrap();
            let closed = |group: &Group| group.state == "closed";
            wait::until_seen("the group is closed", LIMIT, look, closed);
        }
        wait::until_seen(
            "every slot is free, nothing runs but what is kept warm, and no backend keeps anything",
            LIMIT,
            || {
                (
                    api.free_slots(),
                    api.warm_packs() as usize,
                    cluster.runtimes().len(),
                    cluster.containers().len(),
                    cluster.keys(),
                )
            },
            |(free, warm, processes, containers, keys)| {
                *free == cluster.slots() && processes + containers == *warm && keys.is_empty()
            },
        );
    }
}

/// Waits until no flare is under way, however many there are, while they make progress.
#[track_caller]
fn drained(api: &Api) {
    let mut seen = unfinished(api);
    while !seen.is_empty() {
        seen = wait::until_or_explain(
            LIMIT,
            || {
                let now = unfinished(api);
                (now != seen).then_some(now)
            },
            || {
                let flares: Vec<String> = seen.iter().map(|(id, _, _)| brief(api, id)).collect();
                let (invokers, flares) = (api.invokers(), flares.join("\n"));
                format!("with the invokers {invokers:?} nothing becomes of\n{flares}")
            },
        );
    }
}

/// Flares that have not ended, with their states and attempts: at most two hundred of each state. One that is retried
/// during the listing may be missed.
fn unfinished(api: &Api) -> BTreeSet<(String, FlareState, u32)> {
    let states = [
        FlareState::Queued,
        FlareState::Placing,
        FlareState::Starting,
        FlareState::Running,
    ];
    states
        .into_iter()
        .flat_map(|state| {
            let query = ListFlaresQuery {
                limit: Some(200),
                state: Some(state),
                ..ListFlaresQuery::default()
            };
            api.client().list_flares(&query).unwrap().read().unwrap()
        })
        .map(|flare| (flare.flare_id, flare.state, flare.attempt))
        .collect()
}

/// What the API reports of a flare, without its many workers, on one line.
fn brief(api: &Api, id: &str) -> String {
    let mut flare = read_json(api.client().get_flare(id));
    if let Some(fields) = flare.as_object_mut() {
        fields.remove("workers");
        fields.retain(|_, value| !value.is_null());
    }
    flare.to_string()
}

/// Everything that the API reports of an ended flare.
fn kept(cluster: &Cluster, id: &str) -> Value {
    let api = cluster.api();
    let result = api.client().get_result(id).and_then(Body::text);
    json!([read_json(api.client().get_flare(id)), read_json(result)])
}

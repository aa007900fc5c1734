//! What must be true of activation records, whatever failed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use burst_client::{FlareState, FlareSummary, ListActivationsQuery, ListFlaresQuery};
use serde_json::Value;

use super::{Accepted, Callee, Sent};
use crate::api::read_answer;
use crate::{Api, wait};

/// Longer than anything an invocation waits for: slots, its timeout, the timeout of a lost invoker, its record's lease.
const LIMIT: Duration = Duration::from_secs(180);

/// The maximum page length of a list.
const PAGE: u32 = 200;

/// All records, read once everything has ended.
#[derive(Debug)]
pub struct Ledger {
    records: BTreeMap<String, Value>,
    runs: BTreeMap<(String, u64), usize>,
}

impl Ledger {
    /// Waits until everything that was accepted has ended, and the list has each record once and as many as the
    /// platform counts.
    #[track_caller]
    pub fn read(api: &Api, sent: &Sent, runs: &Path) -> Self {
        let open: BTreeSet<&str> = sent.accepted.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(open.len(), sent.accepted.len(), "an id was given twice");
        let open = RefCell::new(open);
        wait::until_or_explain(
            LIMIT,
            || {
                open.borrow_mut().retain(|id| api.activation(id).is_none());
                (open.borrow().is_empty() && unfinished(api).is_empty()).then_some(())
            },
            || {
                let (open, unfinished) = (open.borrow(), unfinished(api));
                let ways = sent.accepted.iter();
                let ways: Vec<_> = ways.filter(|it| open.contains(it.id.as_str())).collect();
                format!("without a record: {ways:?}; going on: {unfinished:#?}")
            },
        );
        // Calls that got no answer may still be running.
        let (listed, counted) = wait::until_seen(
            "the list has each record once",
            LIMIT,
            || {
                let (all, counted) = (list(api), api.count_activations(None) as usize);
                let ids: BTreeSet<String> = all.iter().map(id).collect();
                (ids.len() == all.len()).then_some((all.len(), counted))
            },
            |seen| seen.is_some_and(|(listed, counted)| listed == counted),
        )
        .unwrap_or_default();
        let records: BTreeMap<String, Value> =
            list(api).into_iter().map(|it| (id(&it), it)).collect();
        assert_eq!(
            (records.len(), listed),
            (counted, counted),
            "it still changes"
        );
        Self {
            records,
            runs: noted(runs),
        }
    }

    /// Checks that each accepted call has one record, which agrees with the answer to the call; that there are no more
    /// records than calls; that a number succeeds at most once; that the records which a sequence or a trigger names
    /// exist; and that no action has run twice for one call.
    #[track_caller]
    pub fn check(&self, sent: &Sent) {
        assert!(sent.wrong.is_empty(), "{:#?}", sent.wrong);
        for call in &sent.accepted {
            let record = self.record(call);
            assert_eq!(record["name"], call.callee.name(), "{record:#}");
            if let Some(response) = &call.response {
                assert_eq!(
                    &record["response"], response,
                    "{call:?} got another response"
                );
            }
            let succeeded = record["response"]["status"] == "success";
            if succeeded {
                assert_eq!(record["response"]["result"]["n"], call.n, "{record:#}");
            }
            for part in parts(call.callee, record) {
                let found = self.records.get(&part);
                assert!(
                    found.is_some(),
                    "{part} has no record, a part of {record:#}"
                );
            }
        }
        for callee in [Callee::Python, Callee::Rust, Callee::Sequence, Callee::Fire] {
            let of_callee = |record: &&Value| record["name"] == callee.name();
            let records: Vec<&Value> = self.records.values().filter(of_callee).collect();
            let calls = sent
                .calls
                .iter()
                .filter(|(of, _)| of.runs(callee) || **of == callee);
            let most: usize = calls.map(|(_, count)| count).sum();
            assert!(
                records.len() <= most,
                "{} records of {most} calls",
                records.len()
            );
            let succeeded = records
                .iter()
                .filter(|it| it["response"]["status"] == "success");
            let mut numbers = BTreeSet::new();
            for record in succeeded {
                let n = record["response"]["result"]["n"].as_u64().unwrap();
                assert!(
                    numbers.insert(n),
                    "{callee:?} {n} is recorded twice: {record:#}"
                );
            }
        }
        let twice: Vec<_> = self.runs.iter().filter(|(_, runs)| **runs > 1).collect();
        assert!(
            twice.is_empty(),
            "actions ran twice for one call: {twice:?}"
        );
    }

    /// The results in the records of calls of an action whose program never began.
    pub fn never_begun(&self, sent: &Sent) -> Vec<&Value> {
        let unrun = |call: &&Accepted| {
            matches!(call.callee, Callee::Python | Callee::Rust)
                && !self
                    .runs
                    .contains_key(&(call.callee.name().to_owned(), call.n))
        };
        let calls = sent.accepted.iter().filter(unrun);
        calls
            .map(|call| &self.record(call)["response"]["result"])
            .collect()
    }

    /// The records of accepted calls of this kind that did not succeed.
    pub fn failed(&self, sent: &Sent, callee: Callee) -> Vec<&Value> {
        let calls = sent.accepted.iter().filter(|call| call.callee == callee);
        calls
            .map(|call| self.record(call))
            .filter(|record| record["response"]["status"] != "success")
            .collect()
    }

    /// The number of records by name and outcome.
    pub fn ends(&self) -> BTreeMap<String, usize> {
        let mut ends = BTreeMap::new();
        for record in self.records.values() {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (name, status) = (word(&record["name"]), word(&record["response"]["status"]));
            let error = word(&record["response"]["result"]["error"]);
            let end = format!("{name}: {status} {error}");
            *ends.entry(end).or_default() += 1;
        }
        ends
    }

    #[track_caller]
    fn record(&self, call: &Accepted) -> &Value {
        let record = self.records.get(&call.id);
        record.unwrap_or_else(|| panic!("{call:?} is in no list"))
    }
}

/// Returns all records, page by page.
#[track_caller]
fn list(api: &Api) -> Vec<Value> {
    let pages = (0..).map(|page| {
        api.activations(&ListActivationsQuery {
            limit: Some(PAGE),
            skip: Some(page * PAGE),
            docs: Some(true),
            ..ListActivationsQuery::default()
        })
    });
    pages
        .take_while(|page| !page.is_empty())
        .flatten()
        .collect()
}

fn id(record: &Value) -> String {
    record["activationId"].as_str().unwrap().to_owned()
}

/// The records that the record of a sequence or a trigger names.
fn parts(callee: Callee, record: &Value) -> Vec<String> {
    let lines = record["logs"].as_array().into_iter().flatten();
    let lines = lines.filter_map(|line| line.as_str());
    match callee {
        Callee::Python | Callee::Rust => Vec::new(),
        Callee::Sequence => lines.map(str::to_owned).collect(),
        Callee::Fire => lines
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|rule| Some(rule["activationId"].as_str()?.to_owned()))
            .collect(),
    }
}

/// Returns how often each action has begun for each number.
#[track_caller]
fn noted(runs: &Path) -> BTreeMap<(String, u64), usize> {
    let text = fs::read_to_string(runs).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let (action, n) = line.split_once(' ').unwrap();
        *counts
            .entry((action.to_owned(), n.parse().unwrap()))
            .or_default() += 1;
    }
    counts
}

/// Flares that wait or run, at most one of each state.
#[track_caller]
fn unfinished(api: &Api) -> Vec<FlareSummary> {
    let states = [
        FlareState::Queued,
        FlareState::Starting,
        FlareState::Running,
    ];
    let listed = |state| {
        let query = ListFlaresQuery {
            state: Some(state),
            limit: Some(1),
            ..ListFlaresQuery::default()
        };
        read_answer(api.client().list_flares(&query))
    };
    states.into_iter().flat_map(listed).collect()
}

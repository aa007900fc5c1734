//! The flares that run on a program, and which others may begin beside them.
//!
//! Flares share a program if each of them is a single worker that needs no others. Any other flare has the program to
//! itself. Work on all processes and files of the pack, which belong to no flare in particular, is done while no flare
//! runs, and none begins until it is finished.

use std::collections::{BTreeMap, HashMap};

use burst_protocol::RunPack;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::not_reusable::NotReusable;
use crate::pack::Order;

/// The lanes of a program: the idle ones, `L`, by their numbers, and the flares that run on the others.
pub(crate) struct Lanes<L> {
    idle: BTreeMap<usize, L>,
    running: HashMap<String, Running>,
    /// Whether the last flare is removing what all of them have left.
    cleaning: bool,
    /// Why the program runs no further flare. It is killed when the last one has ended.
    spent: Option<NotReusable>,
}

struct Running {
    orders: mpsc::Sender<Order>,
    shares: bool,
    /// Whether it has ended, and will free its lane in a moment.
    leaving: bool,
}

impl<L> Lanes<L> {
    pub(crate) fn new(lanes: impl IntoIterator<Item = L>) -> Self {
        Self {
            idle: lanes.into_iter().enumerate().collect(),
            running: HashMap::new(),
            cleaning: false,
            spent: None,
        }
    }

    /// Returns why this flare cannot begin, now or soon. `doomed` is whether the program is going to be killed.
    pub(crate) fn refusal(&self, run: &RunPack, doomed: bool) -> Option<Error> {
        let mut others = self.running.values();
        let shared = self.is_idle() || (shares(run) && others.all(|other| other.shares));
        if !shared || self.idle.is_empty() || self.running.contains_key(&run.flare_id) {
            return Some(Error::Busy);
        }
        match &self.spent {
            Some(reason) => Some(Error::Ended(reason.clone())),
            None => doomed.then_some(Error::Ended(NotReusable::Doomed)),
        }
    }

    /// Returns whether no flare runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns whether a flare that is about to begin has to wait.
    pub(crate) fn is_cleaning(&self) -> bool {
        self.cleaning
    }

    /// Returns the lane that the next flare gets. A flare that is alone gets the first one, which launchers may use for
    /// packs of several workers.
    pub(crate) fn next(&mut self) -> Option<&mut L> {
        self.idle.first_entry().map(|entry| entry.into_mut())
    }

    /// Takes a lane for this flare, which receives its orders through `orders`.
    pub(crate) fn take(&mut self, run: &RunPack, orders: mpsc::Sender<Order>) -> Option<L> {
        let (_, lane) = self.idle.pop_first()?;
        let flare = Running {
            orders,
            shares: shares(run),
            leaving: false,
        };
        self.running.insert(run.flare_id.clone(), flare);
        Some(lane)
    }

    /// Records that a flare has ended well. Returns whether it is the last one and has to clean up after all of them.
    pub(crate) fn leave(&mut self, flare_id: &str) -> bool {
        if let Some(flare) = self.running.get_mut(flare_id) {
            flare.leaving = true;
        }
        self.cleaning = self.cleaning || self.running.values().all(|flare| flare.leaving);
        self.cleaning
    }

    /// Removes a flare that is over, and makes its lane, which has this number, idle again.
    pub(crate) fn settle(&mut self, flare_id: &str, number: usize, lane: L) {
        self.running.remove(flare_id);
        self.cleaning = self.cleaning && !self.is_idle();
        self.idle.insert(number, lane);
    }

    /// Rules out further flares. The first reason is kept.
    pub(crate) fn spend(&mut self, reason: NotReusable) {
        self.spent.get_or_insert(reason);
    }

    pub(crate) fn spent(&self) -> Option<&NotReusable> {
        self.spent.as_ref()
    }

    /// Returns the channel for orders to a flare that runs.
    pub(crate) fn orders(&self, flare_id: &str) -> Option<&mpsc::Sender<Order>> {
        self.running.get(flare_id).map(|flare| &flare.orders)
    }

    /// Returns the channels for orders to all flares that run.
    pub(crate) fn all_orders(&self) -> impl Iterator<Item = &mpsc::Sender<Order>> {
        self.running.values().map(|flare| &flare.orders)
    }
}

/// Returns whether a flare can run beside others on one program.
fn shares(run: &RunPack) -> bool {
    run.pack_sizes == [1] && run.autostart && run.group.is_none()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(flare_id: &str) -> RunPack {
        let run = serde_json::json!({
            "flareId": flare_id, "pack": 0, "packSizes": [1], "inputs": {"shared": 1}, "autostart": true,
            "backend": {"kind": "direct"}, "secret": "", "advertise": "", "deadline": 1
        });
        serde_json::from_str(&run.to_string()).unwrap()
    }

    fn take(lanes: &mut Lanes<usize>, flare_id: &str) -> usize {
        assert!(lanes.refusal(&run(flare_id), false).is_none());
        lanes.take(&run(flare_id), mpsc::channel(1).0).unwrap()
    }

    fn is_busy(lanes: &Lanes<usize>, run: &RunPack) -> bool {
        matches!(lanes.refusal(run, false), Some(Error::Busy))
    }

    #[test]
    fn each_lane_runs_one_flare_each_of_another_name() {
        let mut lanes = Lanes::new(0..2);
        assert_eq!(take(&mut lanes, "a"), 0);
        assert!(is_busy(&lanes, &run("a")));
        assert_eq!(take(&mut lanes, "b"), 1);
        assert!(is_busy(&lanes, &run("c")));
        assert!(lanes.orders("b").is_some() && lanes.orders("c").is_none());
        assert_eq!(lanes.all_orders().count(), 2);
        lanes.settle("a", 0, 0);
        assert!(lanes.orders("a").is_none());
        assert_eq!(take(&mut lanes, "c"), 0);
    }

    #[test]
    fn a_flare_with_other_packs_runs_alone() {
        let alone: [fn(&mut RunPack); 3] = [
            |run| run.pack_sizes = vec![2],
            |run| run.autostart = false,
            |run| run.group = Some("g".to_owned()),
        ];
        for change in alone {
            let mut selfish = run("a");
            change(&mut selfish);
            let mut lanes = Lanes::new(0..3);
            take(&mut lanes, "b");
            assert!(is_busy(&lanes, &selfish));
            lanes.settle("b", 0, 0);
            assert!(lanes.refusal(&selfish, false).is_none());
            lanes.take(&selfish, mpsc::channel(1).0).unwrap();
            assert!(is_busy(&lanes, &run("b")));
        }
    }

    #[test]
    fn the_last_flare_cleans_up_and_none_begins_meanwhile() {
        let mut lanes = Lanes::new(0..3);
        take(&mut lanes, "a");
        take(&mut lanes, "b");
        assert!(!lanes.leave("a"));
        assert!(!lanes.is_cleaning());
        take(&mut lanes, "c");
        assert!(!lanes.leave("b"));
        assert!(lanes.leave("c"));
        lanes.settle("a", 0, 0);
        assert!(lanes.is_cleaning());
        lanes.settle("b", 1, 1);
        lanes.settle("c", 2, 2);
        assert!(!lanes.is_cleaning() && lanes.is_idle());
        assert_eq!(lanes.next(), Some(&mut 0));
    }

    #[test]
    fn a_spent_program_accepts_no_flare() {
        let mut lanes = Lanes::new(0..3);
        take(&mut lanes, "a");
        take(&mut lanes, "b");
        let ended = |refusal| matches!(refusal, Some(Error::Ended(_)));
        assert!(ended(lanes.refusal(&run("c"), true)));
        assert!(lanes.refusal(&run("c"), false).is_none());
        lanes.spend(NotReusable::Declined);
        lanes.settle("a", 0, 0);
        assert!(ended(lanes.refusal(&run("c"), false)));
        assert!(!lanes.is_idle());
        lanes.settle("b", 1, 1);
        assert!(lanes.is_idle() && lanes.spent().is_some());
    }
}

//! A platform to run flares on, and figures read from flares.

use crate::findings::{Findings, Span};
use burst_client::{Flare, Start, Timeline};
use burst_tests::{Driver, Platform, Redis, Settings, built, times, wait};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// Longer than any experiment takes.
const LIMIT: Duration = Duration::from_secs(3600);

/// A running platform.
pub struct Bed {
    platform: Platform,
    /// Seconds from the start of its process until it served requests.
    pub start: f64,
}

impl Bed {
    /// Starts a platform with this many slots, whose packs stay warm.
    pub fn start(driver: Driver, slots: u32) -> Self {
        Self::with(settings(driver, slots))
    }

    /// Starts a platform whose flares can also communicate through this Redis.
    pub fn start_with_redis(driver: Driver, slots: u32, redis: &Redis) -> Self {
        let backend = format!("redis-list={}", redis.uri());
        Self::with(settings(driver, slots).flag("--backend", backend))
    }

    /// Starts a platform on which every flare starts new packs.
    pub fn start_cold(driver: Driver, slots: u32) -> Self {
        Self::with(settings(driver, slots).idle_timeout(Duration::from_millis(1)))
    }

    /// Like [`Bed::start_cold`], with packs that can reach this server.
    pub fn start_cold_near(driver: Driver, slots: u32, server: &str) -> Self {
        let reachable = format!("[\"{server}\"]");
        let settings = settings(driver, slots).set("burst.invoker.docker.reachable", &reachable);
        Self::with(settings.idle_timeout(Duration::from_millis(1)))
    }

    /// Starts a platform that keeps this many containers ready, and on which every flare starts new packs in them.
    pub fn start_prewarmed(driver: Driver, slots: u32, containers: u32) -> Self {
        // Each heartbeat replaces one container.
        let settings = settings(driver, slots)
            .prewarmed(containers)
            .set("burst.invoker.heartbeat-interval", "100ms");
        Self::with(settings.idle_timeout(Duration::from_millis(1)))
    }

    fn with(settings: Settings) -> Self {
        let asked = Instant::now();
        let platform = Platform::start(settings);
        let start = asked.elapsed().as_secs_f64();
        Self { platform, start }
    }

    /// Deploys one of the executables that `make build` has put into the distribution.
    pub fn deploy(&self, name: &str) {
        let code = std::fs::read(built::dist(&format!("examples/{name}"))).unwrap();
        self.platform.api().deploy(name, &code);
    }

    /// Runs a flare that must succeed, in packs of exactly `granularity`; `more` is added to the request.
    pub fn flare(
        &self,
        name: &str,
        size: u32,
        granularity: u32,
        params: Value,
        more: Value,
    ) -> Flare {
        let mut request = json!({
            "size": size, "granularity": granularity, "packing": "homogeneous", "params": params,
            "timeout": 300_000, "memory": 64,
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(
            more.as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        let id = self.platform.api().flare(name, &request);
        let flare = self.platform.api().ended(&id);
        assert_eq!(flare.state, "succeeded", "{flare:#?}");
        assert_eq!(flare.packs.len() as u32, size.div_ceil(granularity));
        flare
    }

    /// Waits until all packs are gone, so that only the platform itself is left.
    pub fn settle(&self) {
        let limit = Duration::from_secs(60);
        let left = || (self.platform.containers(), self.platform.processes());
        wait::until_seen("no pack is left", limit, left, |(containers, processes)| {
            containers.is_empty() && processes.len() == 1
        });
    }

    /// Runs a flare once nothing is warm and this many containers are ready. The platform's last report of that can
    /// be older than the previous flare; a flare that did not find the reported containers is not counted.
    pub fn prewarmed(&self, containers: u32, run: impl Fn() -> Flare) -> Flare {
        let limit = Duration::from_secs(120);
        let ready = || {
            let api = self.platform.api();
            (api.warm_packs(), api.prewarmed_packs())
        };
        let found = (0..5).find_map(|_| {
            wait::until_seen("containers are ready", limit, ready, |seen| {
                *seen == (0, containers)
            });
            let flare = run();
            let kinds = flare.packs.iter().map(|pack| pack.start.as_ref());
            kinds
                .eq(vec![Some(&Start::Prewarmed); flare.packs.len()])
                .then_some(flare)
        });
        found.expect("a flare in pre-warmed containers")
    }

    /// Requests `count` flares of one worker, all at the same time, which must succeed.
    pub fn flares_of_one(&self, name: &str, count: u32, params: Value, memory: u32) -> Vec<Flare> {
        let request = json!({"size": 1, "params": params, "timeout": 300_000, "memory": memory});
        let api = self.platform.api();
        let asked: Vec<_> = (0..count).map(|_| api.flare(name, &request)).collect();
        let ended = asked.iter().map(|id| api.ended(id));
        let flares: Vec<Flare> = ended.collect();
        for flare in &flares {
            assert_eq!(flare.state, "succeeded", "{flare:#?}");
        }
        flares
    }

    /// Returns the output of each worker.
    pub fn outputs(&self, flare: &Flare) -> Vec<Value> {
        let outputs = self.platform.api().result(&flare.flare_id).outputs;
        outputs
            .into_iter()
            .map(|output| output.read().unwrap().unwrap())
            .collect()
    }

    /// Returns the timeline of a flare.
    pub fn timeline(&self, flare: &Flare) -> Timeline {
        self.platform.api().timeline(&flare.flare_id)
    }
}

fn settings(driver: Driver, slots: u32) -> Settings {
    Settings::new(driver).slots(slots).limit(LIMIT)
}

/// Returns the seconds from the request to the end.
pub fn duration(flare: &Flare) -> f64 {
    seconds(flare.created, flare.ended.unwrap())
}

/// Returns the seconds from the request until each worker started.
pub fn starts(flare: &Flare) -> Vec<f64> {
    let started = flare.workers.iter().map(|worker| worker.started.unwrap());
    started.map(|at| seconds(flare.created, at)).collect()
}

/// Returns how the packs started, which must be the same for all.
pub fn start_kind(flare: &Flare) -> String {
    let mut kinds: Vec<_> = flare
        .packs
        .iter()
        .map(|pack| pack.start.clone().unwrap().to_string())
        .collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    kinds.remove(0)
}

/// Returns the seconds that each phase took: the sum of its occurrences in a worker, averaged over the workers.
pub fn phases(timeline: &Timeline) -> BTreeMap<String, f64> {
    let mut phases = BTreeMap::new();
    for phase in timeline.workers.iter().flat_map(|worker| &worker.phases) {
        let took = seconds(phase.start, phase.end.unwrap());
        *phases.entry(phase.name.clone()).or_default() += took / timeline.workers.len() as f64;
    }
    phases
}

/// Returns the seconds from the request until the last worker entered this phase.
pub fn entered(timeline: &Timeline, name: &str) -> f64 {
    let phases = timeline.workers.iter().flat_map(|worker| &worker.phases);
    let starts = phases
        .filter(|phase| phase.name == name)
        .map(|phase| phase.start);
    seconds(timeline.created, starts.max().unwrap())
}

/// Returns the seconds from when the first worker entered a phase until the last one left it.
pub fn extent(timeline: &Timeline, name: &str) -> f64 {
    let phases = || timeline.workers.iter().flat_map(|worker| &worker.phases);
    let named = || phases().filter(|phase| phase.name == name);
    let first = named().map(|phase| phase.start).min().unwrap();
    let last = named().map(|phase| phase.end.unwrap()).max().unwrap();
    seconds(first, last)
}

/// Records a timeline, relative to `from`.
pub fn keep_spans(findings: &mut Findings, system: &str, timeline: &Timeline, from: SystemTime) {
    for worker in &timeline.workers {
        findings
            .spans
            .extend(worker.phases.iter().map(|phase| Span {
                system: system.to_owned(),
                worker: worker.worker,
                phase: phase.name.clone(),
                start: seconds(from, phase.start),
                end: seconds(from, phase.end.unwrap()),
            }));
    }
}

/// Returns the seconds from one time to another.
pub fn seconds(start: SystemTime, end: SystemTime) -> f64 {
    times::between(start, end).as_secs_f64()
}

/// Returns the numbers of workers per pack with which all packs have the same size, from 1 to `workers`.
pub fn granularities(workers: u32) -> Vec<u32> {
    (1..=workers)
        .filter(|g| workers.is_multiple_of(*g))
        .collect()
}

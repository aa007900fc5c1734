//! Limits of the platform that only guard against hangs, set so long that no test fails by them on a busy machine. A
//! test that is about a limit sets it itself, which takes precedence.

/// How long a clean stop may take.
const STOP: &str = "burst.stop-timeout=60s";

/// How long all packs of a flare may take to be ready: a setting of nodes that run the scheduler.
pub(crate) const START: (&str, &str) = ("burst.scheduler.start-deadline", "3m");

/// How long the scheduler may take to answer, on platforms where no other can take over from it.
const ANSWER: (&str, &str) = ("burst.scheduler.ask-timeout", "60s");

/// How long a request may take to arrive: settings of nodes that serve the API.
pub(crate) const REQUESTS: [(&str, &str); 2] = [
    ("burst.http.connections.header-timeout", "60s"),
    ("burst.http.body-pace.within", "60s"),
];

/// How long each step of a pack's start may take, and its end after an abort, by when it reports which worker kept it
/// running: settings of nodes that start packs.
pub(crate) const STARTS: [(&str, &str); 5] = [
    ("burst.invoker.pack.init-timeout", "60s"),
    ("burst.invoker.pack.abort-timeout", "4s"),
    ("burst.invoker.process.start-timeout", "60s"),
    ("burst.invoker.sandbox.start-timeout", "60s"),
    ("burst.invoker.docker.start-timeout", "60s"),
];

/// Arguments for any node.
pub(crate) fn stop() -> [String; 2] {
    ["--set", STOP].map(String::from)
}

/// Arguments for a node that runs both the scheduler and packs.
pub(crate) fn all() -> impl Iterator<Item = String> {
    let all = (STARTS.into_iter().chain(REQUESTS)).chain([START, ANSWER]);
    let all = all.flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]);
    all.chain(stop())
}

//! Limits of the platform that guard against what hangs, and those alone: so long that a busy machine has no test fail by
//! them. What a test is about it sets itself, which counts.

/// How long a stop in good order may take.
const STOP: &str = "burst.stop-timeout=60s";

/// How long all packs of a flare may take to be ready: a setting of whoever has the scheduler.
pub(crate) const START: (&str, &str) = ("burst.scheduler.start-deadline", "3m");

/// How long the scheduler may take to answer, where no other takes over from it.
const ANSWER: (&str, &str) = ("burst.scheduler.ask-timeout", "60s");

/// How long a request may take to come: settings of whoever has the API.
pub(crate) const REQUESTS: [(&str, &str); 2] = [
    ("burst.http.connections.header-timeout", "60s"),
    ("burst.http.body-pace.within", "60s"),
];

/// How long one of them may take, by its parts, and to say who kept it from its end: settings of whoever starts them.
pub(crate) const STARTS: [(&str, &str); 5] = [
    ("burst.invoker.pack.init-timeout", "60s"),
    ("burst.invoker.pack.abort-timeout", "4s"),
    ("burst.invoker.process.start-timeout", "60s"),
    ("burst.invoker.sandbox.start-timeout", "60s"),
    ("burst.invoker.docker.start-timeout", "60s"),
];

/// Arguments of any node.
pub(crate) fn stop() -> [String; 2] {
    ["--set", STOP].map(String::from)
}

/// Arguments of a node that has both the scheduler and packs.
pub(crate) fn all() -> impl Iterator<Item = String> {
    let all = (STARTS.into_iter().chain(REQUESTS)).chain([START, ANSWER]);
    let all = all.flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]);
    all.chain(stop())
}

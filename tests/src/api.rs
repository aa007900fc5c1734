//! The platform's HTTP API, as a client in another language would use it.

use std::time::Duration;

use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::{Flare, Invoker, Logs, Outcome, Timeline};
use crate::wait;

/// Longer than the API's own limit for blocking calls.
const CALL_LIMIT: Duration = Duration::from_secs(90);
const LONG_CALL_LIMIT: Duration = Duration::from_secs(300);

/// A caller with credentials.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    uuid: String,
    key: String,
    client: Client,
}

/// An HTTP answer whose body has been read.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body; null when it is no JSON.
    pub json: Value,
    /// Body as it came.
    pub text: String,
}

impl Answer {
    /// The body as `T`, of an answer that must have this status.
    #[track_caller]
    pub fn expect<T: DeserializeOwned>(self, status: u16) -> T {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_value(self.json)
            .unwrap_or_else(|cause| panic!("not what the API promises: {cause}\n{}", self.text))
    }

    /// Checks that this is a refusal with this status, a sentence and a transaction code, and
    /// gives the sentence.
    #[track_caller]
    pub fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let sentence = self.json["error"].as_str().unwrap_or_default().to_owned();
        let code = self.json["code"].as_str().unwrap_or_default();
        assert!(
            sentence.contains(' ') && sentence.len() > 10,
            "no sentence: {}",
            self.text
        );
        assert!(!code.is_empty(), "no transaction code: {}", self.text);
        sentence
    }
}

impl Api {
    /// A caller of the platform at `base` (`http://host:port`) with `auth` (`uuid:key`).
    pub fn new(base: &str, auth: &str) -> Self {
        let (uuid, key) = auth.split_once(':').expect("AUTH is uuid:key");
        let client = Client::builder().timeout(CALL_LIMIT).build().unwrap();
        Self {
            base: base.into(),
            uuid: uuid.into(),
            key: key.into(),
            client,
        }
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// `http://host:port`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `uuid:key`.
    pub fn auth(&self) -> String {
        format!("{}:{}", self.uuid, self.key)
    }

    /// A request with credentials on a path below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path)
            .basic_auth(&self.uuid, Some(&self.key))
    }

    /// A request without credentials on a path below `/api/v1`.
    pub fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}/api/v1/{path}", self.base))
    }

    /// Sends a request and reads the whole answer.
    #[track_caller]
    pub fn send(&self, request: RequestBuilder) -> Answer {
        let response = request
            .send()
            .unwrap_or_else(|cause| panic!("no answer: {cause:?}"));
        let status = response.status().as_u16();
        let text = response
            .text()
            .unwrap_or_else(|cause| panic!("no body: {cause:?}"));
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status, json, text }
    }

    /// `GET` below the caller's namespace.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, &format!("namespaces/_/{path}")))
    }

    /// Reads an answer without keeping it, however long it is; how long that was.
    #[track_caller]
    pub fn length(&self, path: &str) -> u64 {
        let request = self.request(Method::GET, &format!("namespaces/_/{path}"));
        let mut response = request.timeout(LONG_CALL_LIMIT).send().unwrap();
        assert_eq!(response.status().as_u16(), 200);
        response.copy_to(&mut std::io::sink()).unwrap()
    }

    /// `DELETE` below the caller's namespace.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, &format!("namespaces/_/{path}")))
    }

    /// `PUT` below the caller's namespace.
    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(
            self.request(Method::PUT, &format!("namespaces/_/{path}"))
                .json(body),
        )
    }

    /// `POST` below the caller's namespace.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(
            self.request(Method::POST, &format!("namespaces/_/{path}"))
                .json(body),
        )
    }

    /// Starts a flare and gives its id.
    #[track_caller]
    pub fn flare(&self, name: &str, body: &Value) -> String {
        let accepted: Value = self.post(&format!("bursts/{name}"), body).expect(202);
        accepted["flareId"].as_str().expect("a flareId").to_owned()
    }

    /// Starts a flare on a platform that may be broken, and gives its id if it was accepted.
    pub fn try_flare(&self, name: &str, body: &Value) -> Option<String> {
        self.try_post(&format!("bursts/{name}"), body, "flareId")
    }

    /// Opens a group on a platform that may be broken, and gives its id if it was accepted.
    pub fn try_group(&self, body: &Value) -> Option<String> {
        self.try_post("groups", body, "groupId")
    }

    /// Starts a flare on a group that may be over, of a platform that may be broken, and gives its id if it was
    /// accepted.
    pub fn try_flare_on(&self, group: &str, body: &Value) -> Option<String> {
        self.try_post(&format!("groups/{group}"), body, "flareId")
    }

    fn try_post(&self, path: &str, body: &Value, id: &str) -> Option<String> {
        let request = self.request(Method::POST, &format!("namespaces/_/{path}"));
        let answer = request.json(body).send().ok()?;
        let accepted: Value = (answer.status() == 202).then(|| answer.json().ok())??;
        accepted[id].as_str().map(str::to_owned)
    }

    /// Asks for the end of a flare or a group, at a path below the caller's namespace. Whether that came in time,
    /// or arrived at all, is not promised.
    pub fn try_end(&self, path: &str) {
        let path = format!("namespaces/_/{path}");
        let _ = self.request(Method::DELETE, &path).send();
    }

    /// The machines, of a platform that may be broken.
    pub fn try_invokers(&self) -> Option<Vec<Invoker>> {
        let answer = self.request(Method::GET, "invokers").send().ok()?;
        (answer.status() == 200).then(|| answer.json().ok())?
    }

    /// Runs a flare of `size` equal workers to its end.
    #[track_caller]
    pub fn run(&self, name: &str, size: u32, input: &Value) -> Flare {
        let id = self.flare(name, &json!({"size": size, "params": input}));
        self.ended(&id)
    }

    /// A flare's present state.
    #[track_caller]
    pub fn status(&self, id: &str) -> Flare {
        self.get(&format!("flares/{id}")).expect(200)
    }

    /// Waits for a flare's end.
    #[track_caller]
    pub fn ended(&self, id: &str) -> Flare {
        let look = || self.status(id);
        wait::until_seen("the flare ends", CALL_LIMIT, look, Flare::has_ended)
    }

    /// Waits until a flare is in `state`, and fails when it ended in another one.
    #[track_caller]
    pub fn in_state(&self, id: &str, state: &str) -> Flare {
        let seen = wait::until_seen(
            &format!("the flare is {state}"),
            wait::SOON,
            || self.status(id),
            |flare| flare.state == state || flare.has_ended(),
        );
        assert_eq!(seen.state, state, "{seen:#?}");
        seen
    }

    /// Waits until a worker has written a line that starts with `start`.
    #[track_caller]
    pub fn wrote(&self, id: &str, worker: u32, start: &str) {
        wait::until_seen(
            &format!("worker {worker} writes `{start}`"),
            wait::SOON,
            || self.logs(id),
            |logs| {
                let mut lines = logs.logs.iter();
                lines.any(|line| line.worker == Some(worker) && line.line.starts_with(start))
            },
        );
    }

    /// Waits until every worker has written a line that starts with `start`.
    #[track_caller]
    pub fn all_wrote(&self, id: &str, start: &str) {
        (0..self.status(id).size).for_each(|worker| self.wrote(id, worker, start));
    }

    /// Outputs by worker.
    #[track_caller]
    pub fn result(&self, id: &str) -> Outcome {
        self.get(&format!("flares/{id}/result")).expect(200)
    }

    /// What the workers wrote.
    #[track_caller]
    pub fn logs(&self, id: &str) -> Logs {
        self.get(&format!("flares/{id}/logs")).expect(200)
    }

    /// What the workers did when.
    #[track_caller]
    pub fn timeline(&self, id: &str) -> Timeline {
        self.get(&format!("flares/{id}/timeline")).expect(200)
    }

    /// When a flare's time is up: its time-out counts from the reservation of its slots, with which
    /// the phase `invocation` ends.
    #[track_caller]
    pub fn deadline(&self, flare: &Flare) -> i64 {
        let timeline = self.timeline(&flare.flare_id);
        let invocation = &timeline.workers[0].phases[0];
        assert_eq!(invocation.name, "invocation");
        invocation.end.expect("the slots were reserved") + flare.timeout * 1000
    }

    /// The machines.
    #[track_caller]
    pub fn invokers(&self) -> Vec<Invoker> {
        self.send(self.request(Method::GET, "invokers")).expect(200)
    }

    /// Slots no flare holds.
    #[track_caller]
    pub fn free_slots(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.free_slots)
            .sum()
    }

    /// Packs that are kept for the next flare.
    #[track_caller]
    pub fn warm_packs(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.warm_packs)
            .sum()
    }

    /// Containers that wait for any definition.
    #[track_caller]
    pub fn prewarmed_packs(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.prewarmed_packs)
            .sum()
    }
}

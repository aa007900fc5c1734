//! The platform's HTTP API: typed calls through the client, and raw requests.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use burst_client::{
    Body, Client, DeployQuery, Error, Flare, FlareResult, GetLogsQuery, Invoker, Logs, Timeline,
    Waited,
};
use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{package, wait};

/// Longer than the API's own limit for blocking calls.
const CALL_LIMIT: Duration = Duration::from_secs(180);
const LONG_CALL_LIMIT: Duration = Duration::from_secs(900);
/// Longer than any flare that a test waits for, on a busy machine.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(300);

/// A caller with credentials.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
    auth: String,
}

/// An HTTP answer whose body has been read.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body; null if it is not JSON.
    pub json: Value,
    /// Body as it came.
    pub text: String,
}

impl Answer {
    /// Returns the body as `T`, after checking the status.
    #[track_caller]
    pub fn expect<T: DeserializeOwned>(self, status: u16) -> T {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_value(self.json)
            .unwrap_or_else(|cause| panic!("not what the API promises: {cause}\n{}", self.text))
    }

    /// Checks that this is a refusal with this status, a sentence and a transaction code, and returns the sentence.
    #[track_caller]
    pub fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let sentence = self.json["error"].as_str().unwrap_or_default().to_owned();
        let code = self.json["code"].as_str().unwrap_or_default();
        assert_explained(&sentence, code);
        sentence
    }
}

/// Returns the sentence of a refusal, and checks that it has this status and a transaction code.
#[track_caller]
pub fn refused<T: Debug>(answer: Result<T, Error>, status: u16) -> String {
    match answer {
        Err(Error::Refused {
            status: actual,
            message,
            code,
        }) => {
            assert_eq!(actual, status, "{message}");
            assert_explained(&message, &code.unwrap_or_default());
            message
        }
        other => panic!("{other:?} instead of {status}"),
    }
}

#[track_caller]
fn assert_explained(sentence: &str, code: &str) {
    assert!(
        sentence.contains(' ') && sentence.len() > 10,
        "no sentence: {sentence}"
    );
    assert!(!code.is_empty(), "no transaction code: {sentence}");
}

/// Returns the content of a successful answer.
#[track_caller]
pub(crate) fn read_answer<T: DeserializeOwned>(
    answer: Result<burst_client::Answer<T>, Error>,
) -> T {
    let read = answer.and_then(|answer| answer.read());
    read.unwrap_or_else(|cause| panic!("{cause}"))
}

/// Returns the whole content of a successful answer, including fields that the client does not know.
#[track_caller]
pub fn read_json<T>(answer: Result<burst_client::Answer<T>, Error>) -> Value {
    let answer = answer.unwrap_or_else(|cause| panic!("{cause}"));
    serde_json::from_str(answer.text()).unwrap_or_else(|cause| panic!("{cause}"))
}

impl Api {
    /// A caller of the platform at `base` (`http://host:port`) with `auth` (`uuid:key`).
    pub fn new(base: &str, auth: &str) -> Self {
        let client = Client::builder(base, auth).timeout(CALL_LIMIT).build();
        Self {
            client: client.unwrap(),
            auth: auth.into(),
        }
    }

    /// The underlying client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.base().trim_start_matches("http://")
    }

    /// `http://host:port`.
    pub fn base(&self) -> &str {
        self.client.host()
    }

    /// `uuid:key`.
    pub fn auth(&self) -> String {
        self.auth.clone()
    }

    /// A request with credentials on a path below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let (uuid, key) = self.auth.split_once(':').expect("AUTH is uuid:key");
        self.anonymous(method, path).basic_auth(uuid, Some(key))
    }

    /// A request without credentials on a path below `/api/v1`.
    pub fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/api/v1/{path}", self.base());
        self.client.http().request(method, url)
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

    /// Reads an answer of any length without keeping it, and returns its length in bytes.
    #[track_caller]
    pub fn length(&self, path: &str) -> u64 {
        let request = self.request(Method::GET, &format!("namespaces/_/{path}"));
        let mut response = request.timeout(LONG_CALL_LIMIT).send().unwrap();
        assert_eq!(response.status().as_u16(), 200);
        response.copy_to(&mut std::io::sink()).unwrap()
    }

    /// `POST` below the caller's namespace.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(
            self.request(Method::POST, &format!("namespaces/_/{path}"))
                .json(body),
        )
    }

    /// Deploys an executable or a zip, replacing what is deployed under this name.
    #[track_caller]
    pub fn deploy(&self, name: &str, code: &[u8]) {
        let overwrite = Some(true);
        let query = DeployQuery { overwrite };
        read_answer(self.client.deploy(name, &query, &package::definition(code)));
    }

    /// Starts a flare and returns its id.
    #[track_caller]
    pub fn flare(&self, name: &str, body: &Value) -> String {
        read_answer(self.client.flare(name, body)).flare_id
    }

    /// Starts a flare on a platform that may be broken, and returns its id if it was accepted.
    pub fn try_flare(&self, name: &str, body: &Value) -> Option<String> {
        Some(self.client.flare(name, body).ok()?.read().ok()?.flare_id)
    }

    /// Opens a group on a platform that may be broken, and returns its id if it was accepted.
    pub fn try_group(&self, body: &Value) -> Option<String> {
        Some(self.client.open_group(body).ok()?.read().ok()?.group_id)
    }

    /// Starts a flare on a group that may have ended, on a platform that may be broken, and returns its id if it was
    /// accepted.
    pub fn try_flare_on(&self, group: &str, body: &Value) -> Option<String> {
        let accepted = self.client.flare_on_group(group, body);
        Some(accepted.ok()?.read().ok()?.flare_id)
    }

    /// Requests a flare's cancellation. The request may be too late or may not arrive at all.
    pub fn try_cancel(&self, id: &str) {
        let _ = self.client.cancel_flare(id);
    }

    /// Lists the machines of a platform that may be broken.
    pub fn try_invokers(&self) -> Option<Vec<Invoker>> {
        self.client.list_invokers().ok()?.read().ok()
    }

    /// Runs a flare of `size` equal workers to completion.
    #[track_caller]
    pub fn run(&self, name: &str, size: u32, input: &Value) -> Flare {
        self.flare_to_end(name, &json!({"size": size, "params": input}))
    }

    /// Starts a flare and waits until it ends.
    #[track_caller]
    pub fn flare_to_end(&self, name: &str, body: &Value) -> Flare {
        let flare = self.flare_and_wait(name, body);
        match flare.state.is_final() {
            true => flare,
            false => self.ended(&flare.flare_id),
        }
    }

    /// Starts a flare and waits until it ends, or as long as the platform lets a request wait. Polling would cost both
    /// sides more than most flares do.
    #[track_caller]
    pub fn flare_and_wait(&self, name: &str, body: &Value) -> Flare {
        let waited = self.client.flare_and_wait(name, body);
        let id = match waited.unwrap_or_else(|cause| panic!("{cause}")) {
            Waited::Ended(answer) => read_answer(Ok(answer)).flare_id,
            Waited::Accepted(answer) => read_answer(Ok(answer)).flare_id,
        };
        self.status(&id)
    }

    /// A flare's present state.
    #[track_caller]
    pub fn status(&self, id: &str) -> Flare {
        read_answer(self.client.get_flare(id))
    }

    /// Cancels a flare.
    #[track_caller]
    pub fn cancel(&self, id: &str) {
        read_answer(self.client.cancel_flare(id));
    }

    /// Waits until a flare ends.
    #[track_caller]
    pub fn ended(&self, id: &str) -> Flare {
        let look = || self.status(id);
        let ended = |flare: &Flare| flare.state.is_final();
        wait::until_seen("the flare ends", END_LIMIT, look, ended)
    }

    /// Waits until a flare is in `state`, and fails if it ended in another one.
    #[track_caller]
    pub fn in_state(&self, id: &str, state: &str) -> Flare {
        let seen = wait::until_seen(
            &format!("the flare is {state}"),
            wait::SOON,
            || self.status(id),
            |flare| flare.state == state || flare.state.is_final(),
        );
        assert_eq!(seen.state, state, "{seen:#?}");
        seen
    }

    /// Waits until a worker has written a line that starts with `start`.
    #[track_caller]
    pub fn wrote(&self, id: &str, worker: u32, start: &str) {
        let wrote = || {
            let logs = self.logs(id).logs;
            let mut lines = logs.iter();
            lines
                .any(|line| line.worker == Some(worker) && line.line.starts_with(start))
                .then_some(())
        };
        wait::until_or_explain(wait::SOON, wrote, || {
            let (flare, logs) = (self.status(id), self.logs(id));
            format!("worker {worker} writes `{start}`: {flare:#?} {logs:#?}")
        });
    }

    /// Waits until every worker has written a line that starts with `start`.
    #[track_caller]
    pub fn all_wrote(&self, id: &str, start: &str) {
        (0..self.status(id).size).for_each(|worker| self.wrote(id, worker, start));
    }

    /// Outputs by worker.
    #[track_caller]
    pub fn result(&self, id: &str) -> FlareResult {
        read_answer(self.client.get_result(id).and_then(Body::text))
    }

    /// What the workers wrote.
    #[track_caller]
    pub fn logs(&self, id: &str) -> Logs {
        let logs = self.client.get_logs(id, &GetLogsQuery::default());
        read_answer(logs.and_then(Body::text))
    }

    /// What one worker wrote.
    #[track_caller]
    pub fn logs_of(&self, id: &str, worker: u32) -> Logs {
        self.logs_since(id, worker, None)
    }

    /// The lines that one worker wrote since an answer with this `next`.
    #[track_caller]
    pub fn logs_since(&self, id: &str, worker: u32, from: Option<u64>) -> Logs {
        let query = GetLogsQuery {
            worker: Some(worker),
            from,
        };
        read_answer(self.client.get_logs(id, &query).and_then(Body::text))
    }

    /// The phases of the workers.
    #[track_caller]
    pub fn timeline(&self, id: &str) -> Timeline {
        read_answer(self.client.get_timeline(id))
    }

    /// The time at which a flare times out: its timeout counts from the reservation of its slots, which ends the phase
    /// `invocation`.
    #[track_caller]
    pub fn deadline(&self, flare: &Flare) -> SystemTime {
        let timeline = self.timeline(&flare.flare_id);
        let invocation = &timeline.workers[0].phases[0];
        assert_eq!(invocation.name, "invocation");
        invocation.end.expect("the slots were reserved") + flare.timeout
    }

    /// The machines.
    #[track_caller]
    pub fn invokers(&self) -> Vec<Invoker> {
        read_answer(self.client.list_invokers())
    }

    /// Slots that no flare holds.
    #[track_caller]
    pub fn free_slots(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.free_slots)
            .sum()
    }

    /// Packs that are kept warm for the next flare.
    #[track_caller]
    pub fn warm_packs(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.warm_packs)
            .sum()
    }

    /// Pre-warmed containers, which any definition can use.
    #[track_caller]
    pub fn prewarmed_packs(&self) -> u32 {
        self.invokers()
            .iter()
            .map(|invoker| invoker.prewarmed_packs)
            .sum()
    }
}

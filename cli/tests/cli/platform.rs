//! A platform that records requests and responds from a script.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::IntoResponse;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::answers;

/// Values instead of a status: the response never comes, or the connection is closed without one.
const SILENCE: u16 = 0;
const CUT: u16 = 1;
const NAMESPACE: &str = "/api/v1/namespaces/_";
/// Long enough for the slowest machine. Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Debug, Clone)]
pub struct Request {
    /// Method and path below the namespace, with the query.
    pub line: String,
    pub auth: String,
    /// The idempotency key, which identifies the request if it is repeated.
    pub key: Option<String>,
    pub body: serde_json::Value,
}

#[derive(Default)]
struct Script {
    answers: HashMap<String, VecDeque<(u16, String)>>,
    requests: Vec<Request>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<Script>,
    asked: Condvar,
}

pub struct Platform {
    shared: Arc<Shared>,
    address: String,
    _runtime: Runtime,
}

impl Platform {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let shared = Arc::<Shared>::default();
        let app = Router::new()
            .fallback(answer)
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            shared,
            address,
            _runtime: runtime,
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Never responds to requests with this line.
    pub fn silent(&self, line: &str) -> &Self {
        self.always(line, SILENCE, "")
    }

    /// Closes the connection when a request with this line arrives.
    pub fn breaking(&self, line: &str) -> &Self {
        self.always(line, CUT, "")
    }

    /// Responds to requests such as `GET /flares/x1`, with or without their query. The body must fit
    /// the API's model. Several responses are used in turn, and the last one repeatedly.
    pub fn on(&self, line: &str, status: u16, body: &str) -> &Self {
        if (200..300).contains(&status) {
            answers::check(line, body);
        }
        self.always(line, status, body)
    }

    /// Like [`Self::on`], but with any body.
    pub fn always(&self, line: &str, status: u16, body: &str) -> &Self {
        let mut script = self.shared.script.lock().unwrap();
        script
            .answers
            .entry(line.into())
            .or_default()
            .push_back((status, body.into()));
        drop(script);
        self
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.script.lock().unwrap().requests.clone()
    }

    /// Returns the requests' lines in order, without consecutive duplicates.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self
            .requests()
            .into_iter()
            .map(|request| request.line)
            .collect();
        lines.dedup();
        lines
    }

    /// Waits until a request with this line, with or without its query, has arrived.
    pub fn wait_for(&self, line: &str) {
        let script = self.shared.script.lock().unwrap();
        let (_script, waited) = self
            .shared
            .asked
            .wait_timeout_while(script, PATIENCE, |script| {
                let is_it = |asked: &str| asked == line || asked.split('?').next() == Some(line);
                !script.requests.iter().any(|request| is_it(&request.line))
            })
            .unwrap();
        assert!(!waited.timed_out(), "{line} was never asked");
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    let path = uri.path().strip_prefix(NAMESPACE).unwrap_or(uri.path());
    let without_query = format!("{method} {path}");
    let line = match uri.query() {
        Some(query) => format!("{without_query}?{query}"),
        None => without_query.clone(),
    };
    let (status, body) = next(&shared, line, without_query, &headers, &body);
    if status == SILENCE {
        std::future::pending::<()>().await;
    }
    if status == CUT {
        // The panic ends the task, and thereby the connection that it serves.
        std::panic::resume_unwind(Box::new(()));
    }
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(status).unwrap(), json, body)
}

/// Records the request and returns the status and body to respond with.
fn next(
    shared: &Shared,
    line: String,
    without_query: String,
    headers: &HeaderMap,
    body: &[u8],
) -> (u16, String) {
    let mut script = shared.script.lock().unwrap();
    let text = |name: &str| {
        let value = headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    script.requests.push(Request {
        line: line.clone(),
        auth: text("authorization").unwrap_or_default(),
        key: text("idempotency-key"),
        body: serde_json::from_slice(body).unwrap_or_default(),
    });
    shared.asked.notify_all();
    let key = if script.answers.contains_key(&line) {
        line
    } else {
        without_query
    };
    match script.answers.get_mut(&key) {
        Some(answers) if answers.len() > 1 => answers.pop_front().unwrap(),
        Some(answers) => answers[0].clone(),
        None => (
            404,
            r#"{"error":"There is no such thing.","code":"t404"}"#.into(),
        ),
    }
}

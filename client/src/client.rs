//! The client of a platform.

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::blocking::{Client as Http, Response};
use reqwest::header::CONTENT_TYPE;

use crate::answer::{Answer, Body};
use crate::bounded::Bounded;
use crate::call::{Call, IDEMPOTENCY_KEY};
use crate::causes::ConnectionError;
use crate::error::Error;
use crate::observer::Observer;

/// The slowest upload that does not time out.
const UPLOAD_BYTES_PER_SECOND: u64 = 128 * 1024;
/// Longest reason for a refusal that is read, in bytes.
const LONGEST_REASON: u64 = 64 * 1024;

/// A client of one platform, with credentials. Calls are in the caller's own namespace, or in another one that
/// [`in_namespace`](Self::in_namespace) chooses; those about all namespaces need the administrator's credentials.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: Http,
    pub(crate) base: Url,
    pub(crate) user: String,
    pub(crate) key: String,
    pub(crate) namespace: String,
    pub(crate) timeout: Duration,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl Client {
    /// The platform's address.
    pub fn host(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Returns a client whose calls are in this namespace. The platform refuses (403) what the namespace does not share;
    /// `_` is the caller's own. An empty name, `.` or `..` is an [`Error::BadRequest`] of each call.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), burst_client::Error> {
    /// use burst_client::{Client, ListPackagesQuery};
    ///
    /// let client = Client::new("127.0.0.1:3233", "uuid:key")?;
    /// let system = client.in_namespace("whisk.system");
    /// println!("{}", system.list_packages(&ListPackagesQuery::default())?.text());
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_namespace(&self, name: &str) -> Self {
        Self {
            namespace: name.into(),
            ..self.clone()
        }
    }

    /// The path of something in a collection of the namespace.
    pub(crate) fn below<'a>(&'a self, collection: &'a str, name: &'a str) -> [&'a str; 6] {
        ["api", "v1", "namespaces", &self.namespace, collection, name]
    }

    /// The HTTP client that sends the requests, for those without a method here. It adds no credentials by itself.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Sends a call and reads the whole answer.
    pub(crate) fn answer<T>(&self, call: Call<'_>) -> Result<Answer<T>, Error> {
        self.repeating(call, |call| self.open::<T>(call)?.text())
    }

    /// Sends a call whose answer can be empty.
    pub(crate) fn answer_if_any<T>(&self, call: Call<'_>) -> Result<Option<Answer<T>>, Error> {
        let answer = self.unchecked(call)?;
        if answer.text().is_empty() {
            return Ok(None);
        }
        answer.check()?;
        Ok(Some(answer))
    }

    /// Sends a call whose answer is empty, or JSON of a newer platform.
    pub(crate) fn done(&self, call: Call<'_>) -> Result<(), Error> {
        self.answer_if_any::<()>(call).map(drop)
    }

    /// Sends a call whose answer is not JSON.
    pub(crate) fn text(&self, call: Call<'_>) -> Result<String, Error> {
        self.unchecked::<()>(call).map(Answer::into_text)
    }

    fn unchecked<T>(&self, call: Call<'_>) -> Result<Answer<T>, Error> {
        self.repeating(call, |call| self.open::<T>(call)?.unchecked())
    }

    /// Sends a call and returns the answer, which is still to be read.
    pub(crate) fn open<T>(&self, call: Call<'_>) -> Result<Body<T>, Error> {
        let response = self.exchange(call)?;
        if response.status().is_success() {
            return Ok(self.body(response));
        }
        Err(self.refusal(response))
    }

    pub(crate) fn body<T>(&self, response: Response) -> Body<T> {
        Body::new(
            response,
            self.host(),
            self.timeout,
            self.observer.as_ref().map(Arc::clone),
        )
    }

    /// Sends a call and returns the answer, whatever its status.
    pub(crate) fn exchange(&self, call: Call<'_>) -> Result<Response, Error> {
        let url = call.url(&self.base)?;
        let mut request = self
            .http
            .request(call.method, url)
            .basic_auth(&self.user, Some(&self.key));
        if let Some(key) = &call.key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let mut timeout = self.timeout;
        if let Some(body) = call.body {
            let upload = Duration::from_secs(body.len() as u64 / UPLOAD_BYTES_PER_SECOND);
            if !upload.is_zero() {
                timeout += upload;
                request = request.timeout(timeout);
            }
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let failed = |cause: reqwest::Error| self.failed(cause, timeout);
        let request = request.build().map_err(failed)?;
        if let Some(observer) = &self.observer {
            observer.sent(&request);
        }
        self.http.execute(request).map_err(failed)
    }

    pub(crate) fn refusal(&self, response: Response) -> Error {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut text = Vec::new();
        // The part of a reason that arrived before it broke off is still worth showing.
        let reason = Bounded::new(response, self.timeout);
        let _ = reason.take(LONGEST_REASON).read_to_end(&mut text);
        if let Some(observer) = &self.observer {
            observer.received(status, &headers, &String::from_utf8_lossy(&text));
        }
        Error::refused(status, &text)
    }

    fn failed(&self, cause: reqwest::Error, timeout: Duration) -> Error {
        let host = self.host().to_owned();
        let was_connecting = cause.is_connect() || cause.is_builder();
        let cause = match cause.is_timeout() {
            true if !cause.is_connect() => return Error::NoAnswer { host, timeout },
            true => ConnectionError::TimedOut,
            false => ConnectionError::Failed(cause),
        };
        match was_connecting {
            true => Error::Unreachable { host, cause },
            false => Error::Broken { host, cause },
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Client({})", self.host())
    }
}

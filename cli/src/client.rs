//! The HTTP client of the platform's API.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Response};
use reqwest::{Certificate, Method, Url, redirect};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_json::Deserializer;
use serde_json::error::Category;

use crate::address;
use crate::args::GlobalArgs;
use crate::error::Error;
use crate::properties::{self, Property};
use crate::trace;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Until an answer begins, and between two pieces of it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of an answer is read at once.
const PIECE: usize = 64 * 1024;
/// Slowest upload that is still waited for.
const UPLOAD_BYTES_PER_SECOND: u64 = 128 * 1024;

/// Longest reason for a refusal that is read.
const LONGEST_REASON: u64 = 64 * 1024;

/// A connection to one platform as one caller.
#[derive(Clone)]
pub struct Client {
    http: Http,
    base: Url,
    user: String,
    key: String,
    verbose: bool,
}

/// The body of a successful answer, as it came.
pub struct Answer(pub String);

impl Answer {
    /// Reads the fields that are needed out of the body.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.0).map_err(|cause| Error::BadAnswer(cause.to_string()))
    }
}

/// The body of a successful answer, still to be read: it takes as long as pieces of it keep coming.
pub struct Body {
    response: Response,
    host: String,
    verbose: bool,
}

impl Body {
    /// Reads all of it.
    pub fn text(&mut self) -> Result<Answer, Error> {
        let mut text = String::new();
        match self.response.read_to_string(&mut text) {
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::BadAnswer("it is not UTF-8".into()));
            }
            Err(cause) => return Err(broken(&self.host, &cause)),
        }
        self.trace(&text);
        Ok(Answer(text))
    }

    /// Reads JSON as it comes, so that no more of it need be held than the reader keeps.
    pub fn parse<T>(
        self,
        reader: impl for<'de> DeserializeSeed<'de, Value = T>,
    ) -> Result<T, Error> {
        self.trace("");
        let mut json = Deserializer::from_reader(BufReader::with_capacity(PIECE, self.response));
        let read = reader.deserialize(&mut json).and_then(|value| {
            json.end()?;
            Ok(value)
        });
        read.map_err(|cause| match cause.classify() {
            Category::Io => broken(&self.host, &cause.into()),
            _ => Error::BadAnswer(cause.to_string()),
        })
    }

    /// Reads the next bytes of it; none are left when there are none.
    pub fn read(&mut self, piece: &mut [u8]) -> Result<usize, Error> {
        self.response
            .read(piece)
            .map_err(|cause| broken(&self.host, &cause))
    }

    fn trace(&self, text: &str) {
        if self.verbose {
            trace::answer(self.response.status(), self.response.headers(), text);
        }
    }
}

/// What it means that an answer stops in the middle.
fn broken(host: &str, cause: &io::Error) -> Error {
    let host = host.to_owned();
    let inner = cause
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<reqwest::Error>());
    if inner.is_some_and(reqwest::Error::is_timeout) {
        let seconds = ANSWER_TIMEOUT.as_secs();
        let more = String::new();
        return Error::NoAnswer {
            host,
            seconds,
            more,
        };
    }
    let cause = format!("its answer broke off: {}", root(cause));
    Error::Unreachable { host, cause }
}

/// Query parameters; those without a value are left out.
pub type Query<'a> = &'a [(&'a str, Option<String>)];

impl Client {
    /// Finds the platform and the credentials; sends nothing yet.
    pub fn new(args: &GlobalArgs) -> Result<Self, Error> {
        Self::of(Property::Auth, args)
    }

    /// The same for the platform's administrator.
    pub fn administrator(args: &GlobalArgs) -> Result<Self, Error> {
        if args.auth.is_some() {
            return Err(Error::Usage(
                "--auth is a user's: `burst admin` takes --admin-auth admin:KEY".into(),
            ));
        }
        Self::of(Property::AdminAuth, args)
    }

    fn of(credentials: Property, args: &GlobalArgs) -> Result<Self, Error> {
        let host = required(Property::ApiHost, args)?;
        let auth = required(credentials, args)?;
        let is_admin = properties::is_administrator(&auth);
        if credentials == Property::Auth && is_admin {
            return Err(Error::Usage(properties::NOT_A_USER.into()));
        }
        let (user, key) = auth.split_once(':').ok_or_else(|| {
            let form = match credentials {
                Property::AdminAuth => "admin:key",
                _ => "uuid:key",
            };
            Error::Usage(format!(
                "the credentials ({}) are not {form}",
                credentials.key()
            ))
        })?;
        let base = address::base_url(&host)?;
        let mut builder = Http::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("burst/", env!("CARGO_PKG_VERSION")));
        if base.scheme() == "http" {
            // Plain HTTP needs no certificates, and reading the system's takes milliseconds.
            builder = builder.tls_certs_only([]);
        } else if let Some(file) = properties::find(Property::CaCert, args)? {
            builder = builder.tls_certs_only(certificates(Path::new(&file.value))?);
        }
        if address::is_loopback(&base) {
            // No proxy can reach this machine's own platform.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|cause| Error::CannotStart(format!("cannot set up HTTP: {}", root(&cause))))?;
        Ok(Self {
            http,
            base,
            user: user.into(),
            key: key.into(),
            verbose: args.verbose,
        })
    }

    /// `GET` of something in the caller's namespace.
    pub fn get(&self, path: &[&str], query: Query<'_>) -> Result<Answer, Error> {
        self.send(Method::GET, self.namespaced(path, query)?, None)
    }

    /// `GET` of something in the caller's namespace that may be large.
    pub fn open(&self, path: &[&str], query: Query<'_>) -> Result<Body, Error> {
        self.exchange(Method::GET, self.namespaced(path, query)?, None)
    }

    /// `GET` of something that is in no namespace, by its path below `/api/v1`.
    pub fn get_at(&self, path: &[&str], query: Query<'_>) -> Result<Answer, Error> {
        self.send(Method::GET, self.global(path, query)?, None)
    }

    /// `PUT` of such a thing.
    pub fn put_at(
        &self,
        path: &[&str],
        query: Query<'_>,
        body: &impl Serialize,
    ) -> Result<Answer, Error> {
        self.send(Method::PUT, self.global(path, query)?, Some(json(body)?))
    }

    /// `DELETE` of such a thing.
    pub fn delete_at(&self, path: &[&str]) -> Result<Answer, Error> {
        self.send(Method::DELETE, self.global(path, &[])?, None)
    }

    /// `DELETE` of something in the caller's namespace.
    pub fn delete(&self, path: &[&str]) -> Result<Answer, Error> {
        self.send(Method::DELETE, self.namespaced(path, &[])?, None)
    }

    /// `PUT` of a JSON body.
    pub fn put(
        &self,
        path: &[&str],
        query: Query<'_>,
        body: &impl Serialize,
    ) -> Result<Answer, Error> {
        self.send(
            Method::PUT,
            self.namespaced(path, query)?,
            Some(json(body)?),
        )
    }

    /// `POST` of a JSON body.
    pub fn post(
        &self,
        path: &[&str],
        query: Query<'_>,
        body: &impl Serialize,
    ) -> Result<Answer, Error> {
        self.send(
            Method::POST,
            self.namespaced(path, query)?,
            Some(json(body)?),
        )
    }

    /// The platform's address, for messages.
    pub fn host(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    fn namespaced(&self, path: &[&str], query: Query<'_>) -> Result<Url, Error> {
        self.global(&[&["namespaces", "_"], path].concat(), query)
    }

    fn global(&self, path: &[&str], query: Query<'_>) -> Result<Url, Error> {
        self.url(&[&["api", "v1"], path].concat(), query)
    }

    fn url(&self, path: &[&str], query: Query<'_>) -> Result<Url, Error> {
        // The URL standard drops these two segments, so they would name something else.
        if let Some(odd) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(Error::Usage(format!("\"{odd}\" is not a name or an id")));
        }
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        for (key, value) in query {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(key, value);
            }
        }
        Ok(url)
    }

    fn send(&self, method: Method, url: Url, body: Option<String>) -> Result<Answer, Error> {
        self.exchange(method, url, body)?.text()
    }

    fn exchange(&self, method: Method, url: Url, body: Option<String>) -> Result<Body, Error> {
        let mut request = self
            .http
            .request(method, url)
            .basic_auth(&self.user, Some(&self.key));
        let mut timeout = ANSWER_TIMEOUT;
        if let Some(body) = body {
            timeout += Duration::from_secs(body.len() as u64 / UPLOAD_BYTES_PER_SECOND);
            request = request
                .timeout(timeout)
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(body);
        }
        let failed = |cause: reqwest::Error| self.failed(&cause, timeout);
        let request = request.build().map_err(failed)?;
        if self.verbose {
            trace::request(&request);
        }
        let response = self.http.execute(request).map_err(failed)?;
        if response.status().is_success() {
            return Ok(Body {
                response,
                host: self.host().to_owned(),
                verbose: self.verbose,
            });
        }
        Err(self.refusal(response))
    }

    fn refusal(&self, response: Response) -> Error {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut text = Vec::new();
        // What came of a reason that broke off is still worth showing.
        let _ = response.take(LONGEST_REASON).read_to_end(&mut text);
        if self.verbose {
            trace::answer(status, &headers, &String::from_utf8_lossy(&text));
        }
        let status = status.as_u16();
        let ApiError { error, code } = serde_json::from_slice(&text).unwrap_or_else(|_| ApiError {
            error: format!("the platform answered {status} and no reason"),
            code: None,
        });
        Error::Refused {
            status,
            message: error,
            code,
        }
    }

    fn failed(&self, cause: &reqwest::Error, timeout: Duration) -> Error {
        let host = self.host().to_owned();
        if cause.is_timeout() && !cause.is_connect() {
            return Error::NoAnswer {
                host,
                seconds: timeout.as_secs(),
                more: String::new(),
            };
        }
        let cause = if cause.is_timeout() {
            "no connection in time".into()
        } else {
            root(cause)
        };
        Error::Unreachable { host, cause }
    }
}

#[derive(serde::Deserialize)]
struct ApiError {
    error: String,
    code: Option<String>,
}

fn required(property: Property, args: &GlobalArgs) -> Result<String, Error> {
    let (key, flag) = (property.key(), property.flag());
    if property.given(args) == Some("") {
        return Err(Error::Usage(format!("{flag} needs a value")));
    }
    properties::find(property, args)?
        .map(|setting| setting.value)
        .ok_or_else(|| {
            Error::Usage(format!(
                "no {key} is known: pass {flag}, set {}, run `burst property set {flag} …`, \
             or start a platform here with `burst standalone`",
                property.variable()
            ))
        })
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, Error> {
    let text = fs::read(file).map_err(Error::file("read", file))?;
    let found = Certificate::from_pem_bundle(&text).unwrap_or_default();
    if found.is_empty() {
        let file = file.display();
        return Err(Error::Usage(format!(
            "{file} (CACERT) holds no PEM certificate"
        )));
    }
    Ok(found)
}

fn json(body: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(body).map_err(|cause| Error::Usage(cause.to_string()))
}

/// The innermost cause: the outer ones only repeat that a request failed.
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

//! The HTTP client of the platform's API.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Request};
use reqwest::{Certificate, Method, Url, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address;
use crate::args::GlobalArgs;
use crate::error::Error;
use crate::properties::{self, Property};
use crate::trace;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Slowest upload that is still waited for.
const UPLOAD_BYTES_PER_SECOND: u64 = 128 * 1024;

/// A connection to one platform as one caller.
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

/// Query parameters; those without a value are left out.
pub type Query<'a> = &'a [(&'a str, Option<String>)];

impl Client {
    /// Finds the platform and the credentials; sends nothing yet.
    pub fn new(args: &GlobalArgs) -> Result<Self, Error> {
        Self::of(Property::Auth, args)
    }

    /// The same for the platform's administrator.
    pub fn administrator(args: &GlobalArgs) -> Result<Self, Error> {
        Self::of(Property::AdminAuth, args)
    }

    fn of(credentials: Property, args: &GlobalArgs) -> Result<Self, Error> {
        let host = required(Property::ApiHost, args)?;
        let auth = required(credentials, args)?;
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
        self.exchange(request).map_err(failed)?.into_answer()
    }

    fn exchange(&self, request: Request) -> Result<Exchange, reqwest::Error> {
        if self.verbose {
            trace::request(&request);
        }
        let response = self.http.execute(request)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text()?;
        if self.verbose {
            trace::answer(status, &headers, &text);
        }
        Ok(Exchange {
            status: status.as_u16(),
            text,
        })
    }

    fn failed(&self, cause: &reqwest::Error, timeout: Duration) -> Error {
        let host = self.host().to_owned();
        if cause.is_timeout() && !cause.is_connect() {
            return Error::NoAnswer {
                host,
                seconds: timeout.as_secs(),
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

struct Exchange {
    status: u16,
    text: String,
}

impl Exchange {
    fn into_answer(self) -> Result<Answer, Error> {
        if (200..300).contains(&self.status) {
            return Ok(Answer(self.text));
        }
        let (message, code) = match serde_json::from_str::<ApiError>(&self.text) {
            Ok(ApiError { error, code }) => (error, code),
            Err(_) => (
                format!("the platform answered {} and no reason", self.status),
                None,
            ),
        };
        Err(Error::Refused {
            status: self.status,
            message,
            code,
        })
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

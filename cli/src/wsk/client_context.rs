//! The requests of `wsk` commands: to which platform, with which credentials, and in which namespace.

use std::time::Duration;

use burst_client::reqwest::Method;
use burst_client::{Client, Error as ApiError, Reply};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::found::Found;
use super::name::{Name, OWN};
use crate::args::GlobalArgs;
use crate::args::wsk::WskGlobal;
use crate::connection::{self, Address};
use crate::error::Error;

/// The collection of actions.
pub const ACTIONS: &str = "actions";
/// How long to wait for an answer: a platform lets a call of an action wait for a minute.
const PATIENCE: Duration = Duration::from_secs(75);

/// A platform, credentials for it, and the namespace of names that give none.
pub struct ClientContext {
    client: Client,
    auth: String,
    /// The namespace of names that give none.
    pub namespace: String,
}

impl ClientContext {
    /// Finds the platform as `burst` does.
    pub fn of_burst(args: &GlobalArgs) -> Result<Self, Error> {
        let address = connection::user_address(args)?;
        Self::open(address.patient(PATIENCE), OWN.into())
    }

    /// Finds the platform as `wsk` does.
    pub fn of_wsk(args: &WskGlobal) -> Result<Self, Error> {
        let found = Found::read(args)?;
        let namespace = found.namespace.clone();
        Self::open(found.address(args)?.patient(PATIENCE), namespace)
    }

    fn open(address: Address, namespace: String) -> Result<Self, Error> {
        Ok(Self {
            auth: address.auth().to_owned(),
            client: address.connect()?,
            namespace,
        })
    }

    /// The credentials, for feeds and gateways, which act in the caller's name.
    pub fn auth(&self) -> &str {
        &self.auth
    }

    /// The platform's address.
    pub fn host(&self) -> &str {
        self.client.host()
    }

    /// A request about a collection of a namespace.
    pub fn collection(&self, method: Method, namespace: &str, collection: &str) -> Request<'_> {
        self.request(method, &["api", "v1", "namespaces", namespace, collection])
    }

    /// A request about activations, which are always the caller's own.
    pub fn activations(&self) -> Request<'_> {
        self.collection(Method::GET, OWN, "activations")
    }

    /// A request about an entity.
    pub fn entity(&self, method: Method, collection: &str, name: &Name) -> Request<'_> {
        let mut request = self.collection(method, &name.namespace, collection);
        request.path.extend(name.package.clone());
        request.path.push(name.name.clone());
        request
    }

    /// A request about anything, by its path.
    pub fn request(&self, method: Method, path: &[&str]) -> Request<'_> {
        Request {
            client: &self.client,
            method,
            path: path.iter().map(|&part| part.to_owned()).collect(),
            query: Vec::new(),
            body: None,
        }
    }
}

/// A request to send.
#[must_use]
pub struct Request<'a> {
    client: &'a Client,
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Request<'_> {
    /// Appends a name to the path; an empty name is a slash at the end.
    pub fn below(mut self, name: &str) -> Self {
        self.path.push(name.into());
        self
    }

    /// Adds a query parameter.
    pub fn query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// Adds a query parameter, if it has a value.
    pub fn query_if(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Sets the body, as JSON.
    pub fn body(mut self, body: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string(body);
        self.body = Some(text.map_err(|cause| Error::Usage(cause.to_string()))?);
        Ok(self)
    }

    /// Sends the request and returns the answer, whatever its status; `what` names the operation for errors.
    pub fn reply(self, what: &str) -> Result<Reply, Error> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let reply = self
            .client
            .request(self.method, &path, &self.query, self.body);
        reply.map_err(unable(what))
    }

    /// Does the same for a request that starts something by `POST`: it is done once, even if it is sent again.
    pub fn submit(self, what: &str) -> Result<Reply, Error> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let reply = self.client.submit(&path, &self.query, self.body);
        reply.map_err(unable(what))
    }

    /// Sends the request and returns the text of a successful answer.
    pub fn send(self, what: &str) -> Result<String, Error> {
        let reply = self.reply(what)?;
        if reply.is_success() {
            return Ok(reply.text);
        }
        Err(unable(what)(reply.refusal()))
    }

    /// Does the same and parses the answer.
    pub fn read<T: DeserializeOwned>(self, what: &str) -> Result<T, Error> {
        read(&self.send(what)?, what)
    }

    /// Does the same, but returns `None` for the status 404.
    pub fn find<T: DeserializeOwned>(self, what: &str) -> Result<Option<T>, Error> {
        let reply = self.reply(what)?;
        match reply.status {
            404 => Ok(None),
            _ if reply.is_success() => read(&reply.text, what).map(Some),
            _ => Err(unable(what)(reply.refusal())),
        }
    }
}

/// Parses an answer.
pub fn read<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|cause| unable(what)(ApiError::BadAnswer(cause.to_string())))
}

/// Returns the error for an operation that failed.
pub fn unable(what: &str) -> impl FnOnce(ApiError) -> Error {
    let what = what.to_owned();
    move |cause| Error::Unable { what, cause }
}

//! The platform of `wsk` commands, the credentials and the namespace; and what becomes of its answers.

use std::time::Duration;

use burst_client::{Answer, Client, Error as ApiError};
use serde::de::DeserializeOwned;

use super::found::Found;
use super::name::{Name, OWN};
use crate::args::GlobalArgs;
use crate::args::wsk::WskGlobal;
use crate::connection::{self, Address};
use crate::error::Error;

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

    /// The client of the caller's own namespace.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The client of the namespace that the name is in.
    pub fn of(&self, name: &Name) -> Client {
        self.client.in_namespace(&name.namespace)
    }
}

/// Parses the answer of a call; `what` names the operation for errors.
pub fn parsed<T: DeserializeOwned>(
    answer: Result<Answer<T>, ApiError>,
    what: &str,
) -> Result<T, Error> {
    answer
        .and_then(|answer| answer.read())
        .map_err(unable(what))
}

/// Does the same, but returns `None` for the status 404.
pub fn found<T: DeserializeOwned>(
    answer: Result<Answer<T>, ApiError>,
    what: &str,
) -> Result<Option<T>, Error> {
    match answer {
        Err(cause) if cause.status() == Some(404) => Ok(None),
        answer => parsed(answer, what).map(Some),
    }
}

/// Parses a part of an answer.
pub fn read<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|cause| unable(what)(ApiError::BadAnswer(cause.into())))
}

/// Returns the error for an operation that failed.
pub fn unable(what: &str) -> impl FnOnce(ApiError) -> Error {
    let what = what.to_owned();
    move |cause| Error::Unable { what, cause }
}

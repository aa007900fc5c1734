//! Entities as they are, and as they are to be.

use burst_client::KeyValue;
use burst_client::reqwest::Method;
use serde::{Deserialize, Serialize};

use super::name::Name;
use super::session::Session;
use crate::error::Error;

/// What of an entity is looked at here; not every kind has all of it.
#[derive(Deserialize)]
pub struct Entity {
    /// Its namespace, of an action with its package.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether others may use it.
    #[serde(default)]
    pub publish: bool,
    /// What is said of it.
    #[serde(default)]
    pub annotations: Vec<KeyValue>,
    /// What it is called with unless the caller says otherwise.
    #[serde(default)]
    pub parameters: Vec<KeyValue>,
    /// Whether a rule is enabled.
    #[serde(default)]
    pub status: String,
}

impl Entity {
    /// `/NAMESPACE/[PACKAGE/]NAME`.
    pub fn qualified(&self) -> String {
        format!("/{}/{}", self.namespace, self.name)
    }
}

/// As OpenWhisk's clients send it: with where it is.
#[derive(Serialize)]
struct Placed<'a, T> {
    namespace: &'a str,
    name: &'a str,
    #[serde(flatten)]
    request: T,
}

/// Makes an entity or, to `overwrite` it, changes one that there is.
pub fn put(
    session: &Session,
    collection: &str,
    name: &Name,
    overwrite: bool,
    request: impl Serialize,
    what: &str,
) -> Result<(), Error> {
    let ask = session.entity(Method::PUT, collection, name);
    let body = Placed {
        namespace: &name.namespace,
        name: &name.name,
        request,
    };
    let ask = ask.query("overwrite", overwrite).body(&body)?;
    ask.send(what).map(drop)
}

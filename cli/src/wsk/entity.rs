//! Entities as they are called, and as they are to be.

use burst_client::reqwest::Method;
use serde::Serialize;

use super::name::Name;
use super::session::Session;
use crate::error::Error;

/// `/NAMESPACE/[PACKAGE/]NAME`.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("/{namespace}/{name}")
}

/// As OpenWhisk's clients send it: with where it is, which the description leaves to the path.
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

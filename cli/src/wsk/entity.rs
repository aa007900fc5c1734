//! The names of entities, and requests to create or change them.

use burst_client::reqwest::Method;
use serde::Serialize;

use super::client_context::ClientContext;
use super::name::Name;
use crate::error::Error;

/// `/NAMESPACE/[PACKAGE/]NAME`.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("/{namespace}/{name}")
}

/// An entity as OpenWhisk's clients send it: with its namespace and name, which openapi.yaml leaves to the path.
#[derive(Serialize)]
struct Placed<'a, T> {
    namespace: &'a str,
    name: &'a str,
    #[serde(flatten)]
    fields: T,
}

/// Creates an entity or, with `overwrite`, changes an existing one.
pub fn put(
    context: &ClientContext,
    collection: &str,
    name: &Name,
    overwrite: bool,
    fields: impl Serialize,
    what: &str,
) -> Result<(), Error> {
    let body = Placed {
        namespace: &name.namespace,
        name: &name.name,
        fields,
    };
    let request = context.entity(Method::PUT, collection, name);
    let request = request.query("overwrite", overwrite).body(&body)?;
    request.send(what).map(drop)
}

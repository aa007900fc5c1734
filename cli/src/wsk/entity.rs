//! The names of entities, and their place in requests.

use serde::Serialize;

use super::name::Name;

/// `/NAMESPACE/[PACKAGE/]NAME`.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("/{namespace}/{name}")
}

/// An entity as OpenWhisk's clients send it: with its namespace and name, which openapi.yaml leaves to the path.
#[derive(Serialize)]
pub struct Placed<'a, T> {
    namespace: &'a str,
    name: &'a str,
    #[serde(flatten)]
    fields: T,
}

impl<'a, T: Serialize> Placed<'a, T> {
    /// The entity of this name with these fields.
    pub fn new(name: &'a Name, fields: T) -> Self {
        Self {
            namespace: &name.namespace,
            name: &name.name,
            fields,
        }
    }
}

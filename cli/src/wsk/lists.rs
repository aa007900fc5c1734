//! Lists of entities, and their lines.

use burst_client::KeyValue;
use burst_client::reqwest::Method;
use serde::Deserialize;

use super::client_context::ClientContext;
use super::{entity, fields, name};
use crate::args::wsk::EntitiesArgs;
use crate::error::Error;
use crate::output;

/// What the entries of all collections have in common; openapi.yaml has a separate type for each collection.
#[derive(Deserialize)]
pub struct Entity {
    /// Its namespace; for an action, with its package.
    pub namespace: String,
    /// Its name.
    pub name: String,
    publish: bool,
    annotations: Vec<KeyValue>,
}

impl Entity {
    fn qualified(&self) -> String {
        entity::qualified(&self.namespace, &self.name)
    }

    fn shared(&self) -> &'static str {
        if self.publish { "shared" } else { "private" }
    }

    /// Returns its line in a list of the collection.
    fn line(&self, collection: &str) -> String {
        let line = format!("{:<70} {}", self.qualified(), self.shared());
        match fields::text(&self.annotations, "exec") {
            Some(kind) if collection == "actions" => format!("{line} {kind}"),
            _ => line,
        }
    }
}

/// Requests a page of a collection.
pub fn page(
    context: &ClientContext,
    collection: &str,
    args: &EntitiesArgs,
) -> Result<Vec<Entity>, Error> {
    let (namespace, package) = name::within(args.within.as_deref(), &context.namespace)?;
    let mut request = context.collection(Method::GET, &namespace, collection);
    match package {
        Some(package) if collection == "actions" => request = request.below(&package).below(""),
        Some(package) => {
            return Err(Error::Usage(format!(
                "{collection} are in no package: write /NAMESPACE in place of \"{package}\""
            )));
        }
        None => {}
    }
    let listed = request.query("limit", args.limit).query("skip", args.skip);
    let mut listed: Vec<Entity> = listed.read(&format!("list {collection}"))?;
    if args.name_sort {
        listed.sort_by_key(Entity::qualified);
    }
    Ok(listed)
}

/// Prints a collection below its heading.
pub fn print(collection: &str, listed: &[Entity]) -> Result<(), Error> {
    let lines = listed.iter().map(|entity| entity.line(collection));
    let lines: Vec<String> = std::iter::once(collection.to_owned())
        .chain(lines)
        .collect();
    output::line(&lines.join("\n"))
}

/// Prints a page of a collection.
pub fn run(context: &ClientContext, collection: &str, args: &EntitiesArgs) -> Result<(), Error> {
    print(collection, &page(context, collection, args)?)
}

/// Returns the arguments that list a whole collection of a namespace, as far as it fits one page.
pub fn all(namespace: &str, name_sort: bool) -> EntitiesArgs {
    EntitiesArgs {
        within: Some(format!("/{namespace}")),
        limit: 0,
        skip: 0,
        name_sort,
    }
}

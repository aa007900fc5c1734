//! Lists of entities, and their lines.

use std::fmt;

use burst_client::{
    Answer, KeyValue, ListActionsQuery, ListActivationsQuery, ListPackagesQuery, ListRulesQuery,
    ListTriggersQuery,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client_context::{ClientContext, parsed};
use super::{entity, fields, name};
use crate::args::wsk::EntitiesArgs;
use crate::error::Error;
use crate::output;

/// A collection of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// Its actions.
    Actions,
    /// Its packages.
    Packages,
    /// Its rules.
    Rules,
    /// Its triggers.
    Triggers,
}

impl fmt::Display for Collection {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Actions => "actions",
            Self::Packages => "packages",
            Self::Rules => "rules",
            Self::Triggers => "triggers",
        })
    }
}

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
    fn line(&self, collection: Collection) -> String {
        let line = format!("{:<70} {}", self.qualified(), self.shared());
        match fields::text(&self.annotations, "exec") {
            Some(kind) if collection == Collection::Actions => format!("{line} {kind}"),
            _ => line,
        }
    }
}

/// Requests a list of activations, which has full records if the query asks for them.
pub fn activations<T: DeserializeOwned>(
    context: &ClientContext,
    query: &ListActivationsQuery,
    what: &str,
) -> Result<Vec<T>, Error> {
    let answer = context.client().list_activations(query);
    parsed(answer.map(Answer::cast), what)
}

/// Requests a page of a collection.
pub fn page(
    context: &ClientContext,
    collection: Collection,
    args: &EntitiesArgs,
) -> Result<Vec<Entity>, Error> {
    let (namespace, package) = name::within(args.within.as_deref(), &context.namespace)?;
    let client = context.client().in_namespace(&namespace);
    let (limit, skip, count) = (Some(args.limit), Some(args.skip), None);
    let of_actions = ListActionsQuery { limit, skip, count };
    let listed = match (collection, package) {
        (Collection::Actions, Some(package)) => {
            client.list_actions_of_package(&package, &of_actions)
        }
        (_, Some(package)) => {
            return Err(Error::Usage(format!(
                "{collection} are in no package: write /NAMESPACE in place of \"{package}\""
            )));
        }
        (Collection::Actions, None) => client.list_actions(&of_actions),
        (Collection::Packages, None) => {
            client.list_packages(&ListPackagesQuery { limit, skip, count })
        }
        (Collection::Rules, None) => client.list_rules(&ListRulesQuery { limit, skip, count }),
        (Collection::Triggers, None) => {
            client.list_triggers(&ListTriggersQuery { limit, skip, count })
        }
    };
    let listed = listed.map(Answer::cast);
    let mut listed: Vec<Entity> = parsed(listed, &format!("list {collection}"))?;
    if args.name_sort {
        listed.sort_by_key(Entity::qualified);
    }
    Ok(listed)
}

/// Prints a collection below its heading.
fn print(collection: Collection, listed: &[Entity]) -> Result<(), Error> {
    let lines = listed.iter().map(|entity| entity.line(collection));
    let lines: Vec<String> = std::iter::once(collection.to_string())
        .chain(lines)
        .collect();
    output::line(&lines.join("\n"))
}

/// Prints a page of a collection.
pub fn run(
    context: &ClientContext,
    collection: Collection,
    args: &EntitiesArgs,
) -> Result<(), Error> {
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

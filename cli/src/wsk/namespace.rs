//! `namespace`, and `list`.

use super::client_context::{ClientContext, parsed};
use super::lists::{self, Collection};
use super::{name, rule};
use crate::args::wsk::{ListArgs, NamespaceVerb};
use crate::error::Error;
use crate::output;

/// Runs a `namespace` command.
pub fn run(verb: &NamespaceVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        NamespaceVerb::List => {
            let names = context.client().list_own_namespaces();
            let names = parsed(names, "obtain the list of available namespaces")?;
            output::line(
                &["namespaces".to_owned()]
                    .into_iter()
                    .chain(names)
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        }
        NamespaceVerb::Get(args) => get(context, args),
    }
}

/// Lists everything in a namespace.
pub fn get(context: &ClientContext, args: &ListArgs) -> Result<(), Error> {
    let (namespace, _) = name::within(args.namespace.as_deref(), &context.namespace)?;
    output::line(&format!("Entities in namespace: {namespace}"))?;
    let page = lists::all(&namespace, args.name_sort);
    for collection in [
        Collection::Packages,
        Collection::Actions,
        Collection::Triggers,
    ] {
        lists::run(context, collection, &page)?;
    }
    rule::print(context, &page)
}

//! `namespace`, and `list`.

use burst_client::reqwest::Method;

use super::session::Session;
use super::{lists, name, rule};
use crate::args::wsk::{ListArgs, NamespaceVerb};
use crate::error::Error;
use crate::output;

/// Does what is asked for.
pub fn run(verb: &NamespaceVerb, session: &Session) -> Result<(), Error> {
    match verb {
        NamespaceVerb::List => {
            let ask = session.ask(Method::GET, &["api", "v1", "namespaces"]);
            let names: Vec<String> = ask.read("obtain the list of available namespaces")?;
            output::line(
                &["namespaces".to_owned()]
                    .into_iter()
                    .chain(names)
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        }
        NamespaceVerb::Get(args) => get(session, args),
    }
}

/// Lists all that is in a namespace.
pub fn get(session: &Session, args: &ListArgs) -> Result<(), Error> {
    let (namespace, _) = name::within(args.namespace.as_deref(), &session.namespace)?;
    output::line(&format!("Entities in namespace: {namespace}"))?;
    let page = lists::all(&namespace, args.name_sort);
    for collection in ["packages", "actions", "triggers"] {
        lists::run(session, collection, &page)?;
    }
    rule::print(session, &page)
}

//! `action invoke`.

use std::collections::BTreeMap;

use burst_client::{InvokeQuery, Invoked};
use serde_json::value::RawValue;

use super::client_context::{ClientContext, unable};
use super::name::Name;
use super::{actions, fields, show};
use crate::args::wsk::action::InvokeArgs;
use crate::error::Error;
use crate::output;

/// Calls an action as the command line says, and prints the outcome.
pub fn run(context: &ClientContext, args: &InvokeArgs) -> Result<(), Error> {
    let name = Name::parse(&args.name, &context.namespace)?;
    let what = format!("invoke action '{}'", args.name);
    let waits = args.blocking || args.result;
    let body = fields::params(&args.params)?;
    let query = InvokeQuery {
        blocking: Some(waits),
        result: Some(args.result),
    };
    match actions::invoke(context, &name, &query, &body).map_err(unable(&what))? {
        Invoked::Succeeded(answer) => succeeded(&name, answer.text(), args.result),
        Invoked::Failed { status, answer } => {
            if let Some(headline) = headline(&name, answer.text(), args.result) {
                output::note(&headline);
            }
            show::json_beside(answer.text())?;
            Err(Error::AlreadyShown { status })
        }
        Invoked::Accepted(answer) => {
            let id = answer.read().map_err(unable(&what))?.activation_id;
            let name = name.qualified();
            if !waits {
                return show::ok(&format!("invoked {name} with id {id}"));
            }
            show::ok(&format!(
                "invoked {name}, but the request has not yet finished, with id {id}"
            ))?;
            Err(Error::AlreadyShown { status: 202 })
        }
    }
}

/// Prints the answer to a successful call.
pub fn succeeded(name: &Name, text: &str, result: bool) -> Result<(), Error> {
    if let Some(headline) = headline(name, text, result) {
        output::line(&headline)?;
    }
    show::json(text)
}

/// Returns the line to print above an activation; a result stands alone.
fn headline(name: &Name, text: &str, result: bool) -> Option<String> {
    if result {
        return None;
    }
    // If the answer is an array, it is only a result, without an id.
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    let id: String = serde_json::from_str(fields.get("activationId")?.get()).ok()?;
    Some(format!("ok: invoked {} with id {id}", name.qualified()))
}

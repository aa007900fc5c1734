//! `action invoke`, and calls of feeds.

use std::collections::BTreeMap;

use burst_client::reqwest::Method;
use burst_client::{AcceptedActivation, Reply};
use serde::Serialize;
use serde_json::value::RawValue;

use super::client_context::{ACTIONS, ClientContext, read, unable};
use super::name::Name;
use super::{fields, show};
use crate::args::wsk::action::InvokeArgs;
use crate::error::Error;
use crate::output;

/// The outcome of a call.
pub enum Outcome {
    /// It ended successfully.
    Succeeded(String),
    /// The action failed; the platform did not.
    Failed(Reply),
    /// It is still running, or the caller did not want to wait for it.
    Accepted(String),
}

/// Calls an action.
pub fn call(
    context: &ClientContext,
    name: &Name,
    query: &[(&'static str, bool)],
    body: &impl Serialize,
    what: &str,
) -> Result<Outcome, Error> {
    let mut request = context.entity(Method::POST, ACTIONS, name);
    for (name, value) in query {
        request = request.query(name, value);
    }
    let reply = request.body(body)?.submit(what)?;
    match reply.status {
        202 => Ok(Outcome::Accepted(
            read::<AcceptedActivation>(&reply.text, what)?.activation_id,
        )),
        200..=299 => Ok(Outcome::Succeeded(reply.text)),
        500 | 502 if !is_refusal(&reply.text) => Ok(Outcome::Failed(reply)),
        _ => Err(unable(what)(reply.refusal())),
    }
}

/// Whether the platform refused the call. A refusal has a code; an action's own failure, with the
/// same status, has none.
fn is_refusal(text: &str) -> bool {
    match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) {
        Ok(fields) => fields.contains_key("error") && fields.contains_key("code"),
        // An array is a result. Anything that is not JSON comes from a proxy in between.
        Err(_) => serde_json::from_str::<Vec<Box<RawValue>>>(text).is_err(),
    }
}

/// Calls an action as the command line says, and prints the outcome.
pub fn run(context: &ClientContext, args: &InvokeArgs) -> Result<(), Error> {
    let name = Name::parse(&args.name, &context.namespace)?;
    let what = format!("invoke action '{}'", args.name);
    let waits = args.blocking || args.result;
    let body = fields::params(&args.params)?;
    let query = [("blocking", waits), ("result", args.result)];
    match call(context, &name, &query, &body, &what)? {
        Outcome::Succeeded(text) => succeeded(&name, &text, args.result),
        Outcome::Failed(reply) => {
            if let Some(said) = said(&name, &reply.text, args.result) {
                output::note(&said);
            }
            show::json_beside(&reply.text)?;
            Err(Error::Told {
                status: reply.status,
            })
        }
        Outcome::Accepted(id) if waits => {
            show::ok(&format!(
                "invoked {}, but the request has not yet finished, with id {id}",
                name.qualified()
            ))?;
            Err(Error::Told { status: 202 })
        }
        Outcome::Accepted(id) => show::ok(&format!("invoked {} with id {id}", name.qualified())),
    }
}

/// Prints the answer to a successful call.
pub fn succeeded(name: &Name, text: &str, result: bool) -> Result<(), Error> {
    if let Some(said) = said(name, text, result) {
        output::line(&said)?;
    }
    show::json(text)
}

/// Returns the line to print above an activation; a result stands alone.
fn said(name: &Name, text: &str, result: bool) -> Option<String> {
    if result {
        return None;
    }
    // If the answer is an array, it is only a result, without an id.
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    let id: String = serde_json::from_str(fields.get("activationId")?.get()).ok()?;
    Some(format!("ok: invoked {} with id {id}", name.qualified()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_failed_action() {
        for (text, expected) in [
            (r#"{"error":"no","code":"abc"}"#, true),
            (r#"{"error":"the action's own"}"#, false),
            (r#"{"activationId":"1","response":{}}"#, false),
            ("[1,2]", false),
            ("<html>", true),
        ] {
            assert_eq!(is_refusal(text), expected, "{text}");
        }
    }
}

//! `rule`.

use burst_client::reqwest::Method;
use serde::{Deserialize, Serialize};

use super::fields::{self, Field};
use super::lists::{self, Listed};
use super::name::Name;
use super::session::{Session, read};
use super::show;
use crate::args::wsk::rule::{RuleArgs, RuleDeleteArgs, RuleVerb};
use crate::args::wsk::{EntitiesArgs, EntityArgs, EntityGetArgs};
use crate::error::Error;
use crate::output;

/// The collection's name on the wire.
pub const COLLECTION: &str = "rules";

/// Does what is asked for.
pub fn run(verb: &RuleVerb, session: &Session) -> Result<(), Error> {
    match verb {
        RuleVerb::Create(args) => put(session, args, false),
        RuleVerb::Update(args) => put(session, args, true),
        RuleVerb::Enable(args) => turn(session, args, "active", "enable"),
        RuleVerb::Disable(args) => turn(session, args, "inactive", "disable"),
        RuleVerb::Status(args) => {
            let name = Name::parse_plain(&args.name, &session.namespace)?;
            let status = status(session, &name)?;
            show::ok(&format!("rule {} is {status}", name.name))
        }
        RuleVerb::Get(args) => get(session, args),
        RuleVerb::List(args) => print(session, args),
        RuleVerb::Delete(args) => delete(session, args),
    }
}

#[derive(Serialize)]
struct Body {
    namespace: String,
    name: String,
    trigger: String,
    action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Vec<Field>>,
}

fn put(session: &Session, args: &RuleArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let body = Body {
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        trigger: Name::parse_plain(&args.trigger, &session.namespace)?.qualified(),
        action: Name::parse(&args.action, &session.namespace)?.qualified(),
        annotations: fields::annotations(&args.annotations)?,
    };
    let ask = session.entity(Method::PUT, COLLECTION, &name);
    let ask = ask.query("overwrite", overwrite).body(&body)?;
    ask.send(&format!("{verb} rule '{}'", args.name))?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

#[derive(Serialize)]
struct Turned {
    status: &'static str,
}

fn set(session: &Session, name: &Name, status: &'static str, what: &str) -> Result<(), Error> {
    let ask = session.entity(Method::POST, COLLECTION, name);
    ask.body(&Turned { status })?.send(what).map(drop)
}

fn turn(
    session: &Session,
    args: &EntityArgs,
    status: &'static str,
    verb: &str,
) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("{verb} rule '{}'", args.name);
    set(session, &name, status, &what)?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

#[derive(Deserialize)]
struct Existing {
    #[serde(default)]
    status: String,
    #[serde(default)]
    annotations: Vec<Field>,
}

fn status(session: &Session, name: &Name) -> Result<String, Error> {
    let what = format!("get status of rule '{}'", name.name);
    let ask = session.entity(Method::GET, COLLECTION, name);
    Ok(ask.read::<Existing>(&what)?.status)
}

fn get(session: &Session, args: &EntityGetArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("get rule '{}'", args.name);
    let text = session.entity(Method::GET, COLLECTION, &name).send(&what)?;
    if args.summary {
        let existing: Existing = read(&text, &what)?;
        return show::summary("rule", &name.qualified(), &existing.annotations);
    }
    show::entity(&format!("rule {}", name.name), &text, args.field.as_deref())
}

fn delete(session: &Session, args: &RuleDeleteArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("delete rule '{}'", args.name);
    if args.disable {
        set(session, &name, "inactive", &what)?;
    }
    session
        .entity(Method::DELETE, COLLECTION, &name)
        .send(&what)?;
    show::ok(&format!("deleted rule {}", name.name))
}

/// Prints a page of rules. Lists do not have their status, so that each is asked for it.
pub fn print(session: &Session, args: &EntitiesArgs) -> Result<(), Error> {
    let mut lines = vec![COLLECTION.to_owned()];
    for rule in lists::ask(session, COLLECTION, args)? {
        let Listed {
            namespace, name, ..
        } = rule;
        let whole = Name {
            namespace,
            package: None,
            name,
        };
        // It may have gone since.
        let status = match status(session, &whole) {
            Ok(status) => status,
            Err(Error::Unable { cause, .. }) if cause.status() == Some(404) => continue,
            Err(error) => return Err(error),
        };
        lines.push(format!("{:<70} private {status:>12}", whole.qualified()));
    }
    output::line(&lines.join("\n"))
}

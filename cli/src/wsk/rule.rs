//! `rule`.

use burst_client::reqwest::Method;
use burst_client::{Rule, RuleRequest, RuleStatus, RuleStatusRequest};

use super::lists::{self, Entity};
use super::name::Name;
use super::session::{Session, read};
use super::{entity, fields, show};
use crate::args::wsk::rule::{RuleArgs, RuleDeleteArgs, RuleVerb};
use crate::args::wsk::{EntitiesArgs, EntityArgs, EntityGetArgs};
use crate::error::Error;
use crate::{inputs, output};

/// The collection's name on the wire.
pub const COLLECTION: &str = "rules";

/// Does what is asked for.
pub fn run(verb: &RuleVerb, session: &Session) -> Result<(), Error> {
    match verb {
        RuleVerb::Create(args) => put(session, args, false),
        RuleVerb::Update(args) => put(session, args, true),
        RuleVerb::Enable(args) => turn(session, args, RuleStatus::Active, "enable"),
        RuleVerb::Disable(args) => turn(session, args, RuleStatus::Inactive, "disable"),
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

fn put(session: &Session, args: &RuleArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let full = |name: Name| inputs::json(&name.qualified()).map(Some);
    let request = RuleRequest {
        trigger: full(Name::parse_plain(&args.trigger, &session.namespace)?)?,
        action: full(Name::parse(&args.action, &session.namespace)?)?,
        annotations: fields::annotations(&args.annotations)?,
        ..RuleRequest::default()
    };
    let what = format!("{verb} rule '{}'", args.name);
    entity::put(session, COLLECTION, &name, overwrite, request, &what)?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

fn set(session: &Session, name: &Name, status: RuleStatus, what: &str) -> Result<(), Error> {
    let ask = session.entity(Method::POST, COLLECTION, name);
    ask.body(&RuleStatusRequest { status })?
        .send(what)
        .map(drop)
}

fn turn(session: &Session, args: &EntityArgs, status: RuleStatus, verb: &str) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("{verb} rule '{}'", args.name);
    set(session, &name, status, &what)?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

fn status(session: &Session, name: &Name) -> Result<RuleStatus, Error> {
    let what = format!("get status of rule '{}'", name.name);
    let ask = session.entity(Method::GET, COLLECTION, name);
    Ok(ask.read::<Rule>(&what)?.status)
}

fn get(session: &Session, args: &EntityGetArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("get rule '{}'", args.name);
    let text = session.entity(Method::GET, COLLECTION, &name).send(&what)?;
    if args.summary {
        let rule: Rule = read(&text, &what)?;
        let (name, status) = (entity::qualified(&rule.namespace, &rule.name), rule.status);
        return output::line(&format!("rule {name}\n   (status: {status})"));
    }
    show::entity(&format!("rule {}", name.name), &text, args.field.as_deref())
}

fn delete(session: &Session, args: &RuleDeleteArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &session.namespace)?;
    let what = format!("delete rule '{}'", args.name);
    if args.disable {
        set(session, &name, RuleStatus::Inactive, &what)?;
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
        let Entity {
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

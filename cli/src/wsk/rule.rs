//! `rule`.

use burst_client::{PutRuleQuery, RuleRequest, RuleStatus, RuleStatusRequest};

use super::client_context::{ClientContext, parsed, unable};
use super::entity::{self, Placed};
use super::lists::{self, Collection, Entity};
use super::name::Name;
use super::{fields, show};
use crate::args::wsk::rule::{RuleArgs, RuleDeleteArgs, RuleVerb};
use crate::args::wsk::{EntitiesArgs, EntityArgs, EntityGetArgs};
use crate::error::Error;
use crate::{inputs, output};

/// Runs a `rule` command.
pub fn run(verb: &RuleVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        RuleVerb::Create(args) => put(context, args, false),
        RuleVerb::Update(args) => put(context, args, true),
        RuleVerb::Enable(args) => turn(context, args, RuleStatus::Active, "enable"),
        RuleVerb::Disable(args) => turn(context, args, RuleStatus::Inactive, "disable"),
        RuleVerb::Status(args) => {
            let name = Name::parse_plain(&args.name, &context.namespace)?;
            let status = status(context, &name)?;
            show::ok(&format!("rule {} is {status}", name.name))
        }
        RuleVerb::Get(args) => get(context, args),
        RuleVerb::List(args) => print(context, args),
        RuleVerb::Delete(args) => delete(context, args),
    }
}

fn put(context: &ClientContext, args: &RuleArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let full = |name: Name| inputs::json(&name.qualified()).map(Some);
    let request = RuleRequest {
        trigger: full(Name::parse_plain(&args.trigger, &context.namespace)?)?,
        action: full(Name::parse(&args.action, &context.namespace)?)?,
        annotations: fields::annotations(&args.annotations)?,
        ..RuleRequest::default()
    };
    let what = format!("{verb} rule '{}'", args.name);
    let overwrite = Some(overwrite);
    let made = context.of(&name).put_rule(
        &name.name,
        &PutRuleQuery { overwrite },
        &Placed::new(&name, request),
    );
    made.map_err(unable(&what))?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

fn set(context: &ClientContext, name: &Name, status: RuleStatus, what: &str) -> Result<(), Error> {
    let request = RuleStatusRequest { status };
    let set = context.of(name).set_rule_status(&name.name, &request);
    set.map_err(unable(what))
}

fn turn(
    context: &ClientContext,
    args: &EntityArgs,
    status: RuleStatus,
    verb: &str,
) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("{verb} rule '{}'", args.name);
    set(context, &name, status, &what)?;
    show::ok(&format!("{verb}d rule {}", name.name))
}

fn status(context: &ClientContext, name: &Name) -> Result<RuleStatus, Error> {
    let what = format!("get status of rule '{}'", name.name);
    Ok(parsed(context.of(name).get_rule(&name.name), &what)?.status)
}

fn get(context: &ClientContext, args: &EntityGetArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("get rule '{}'", args.name);
    let answer = context.of(&name).get_rule(&name.name);
    let answer = answer.map_err(unable(&what))?;
    if args.summary {
        let rule = answer.read().map_err(unable(&what))?;
        let (name, status) = (entity::qualified(&rule.namespace, &rule.name), rule.status);
        return output::line(&format!("rule {name}\n   (status: {status})"));
    }
    let what = format!("rule {}", name.name);
    show::entity(&what, answer.text(), args.field.as_deref())
}

fn delete(context: &ClientContext, args: &RuleDeleteArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("delete rule '{}'", args.name);
    if args.disable {
        set(context, &name, RuleStatus::Inactive, &what)?;
    }
    let deleted = context.of(&name).delete_rule(&name.name);
    deleted.map_err(unable(&what))?;
    show::ok(&format!("deleted rule {}", name.name))
}

/// Prints a page of rules. Lists do not contain the rules' status, so each rule is requested for
/// it.
pub fn print(context: &ClientContext, args: &EntitiesArgs) -> Result<(), Error> {
    let mut lines = vec![Collection::Rules.to_string()];
    for rule in lists::page(context, Collection::Rules, args)? {
        let Entity {
            namespace, name, ..
        } = rule;
        let whole = Name {
            namespace,
            package: None,
            name,
        };
        // The rule may have been deleted since.
        let status = match status(context, &whole) {
            Ok(status) => status,
            Err(Error::Unable { cause, .. }) if cause.status() == Some(404) => continue,
            Err(error) => return Err(error),
        };
        lines.push(format!("{:<70} private {status:>12}", whole.qualified()));
    }
    output::line(&lines.join("\n"))
}

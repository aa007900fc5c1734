//! `trigger`.

use burst_client::{PutTriggerQuery, TriggerRequest};

use super::client_context::{ClientContext, found, parsed, unable};
use super::entity::{self, Placed};
use super::feed::{self, Event};
use super::lists::{self, Collection};
use super::name::Name;
use super::{fields, invoke, show};
use crate::args::wsk::trigger::{FireArgs, TriggerArgs, TriggerVerb};
use crate::args::wsk::{EntityArgs, EntityGetArgs};
use crate::error::Error;
use crate::inputs::Params;
use crate::output;

/// Runs a `trigger` command.
pub fn run(verb: &TriggerVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        TriggerVerb::Create(args) => create(context, args),
        TriggerVerb::Update(args) => update(context, args),
        TriggerVerb::Fire(args) => fire(context, args),
        TriggerVerb::Get(args) => get(context, args),
        TriggerVerb::List(args) => lists::run(context, Collection::Triggers, args),
        TriggerVerb::Delete(args) => delete(context, args),
    }
}

/// Parameters of a trigger and of its feed, as the flags tell them apart.
struct Parameters {
    trigger: Params,
    feed: Params,
}

fn parameters(args: &TriggerArgs, has_feed: bool) -> Result<Parameters, Error> {
    let mut trigger = fields::object(None, &args.trigger_param)?;
    let mut feed = fields::object(None, &args.feed_param)?;
    let of_either = fields::params(&args.params)?;
    if has_feed {
        feed.extend(of_either);
    } else if feed.is_empty() {
        trigger.extend(of_either);
    } else {
        return Err(Error::Usage(format!(
            "trigger {} has no feed, which --feed-param is for",
            args.name
        )));
    }
    Ok(Parameters { trigger, feed })
}

fn create(context: &ClientContext, args: &TriggerArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("create trigger '{}'", args.name);
    let Parameters { trigger, feed } = parameters(args, args.feed.is_some())?;
    let mut annotations = fields::annotations(&args.annotations)?.unwrap_or_default();
    let feed_name = args
        .feed
        .as_ref()
        .map(|feed| Name::parse(feed, &context.namespace));
    let feed_name = feed_name.transpose()?;
    if let Some(feed) = &feed_name {
        annotations.retain(|other| other.key != feed::ANNOTATION);
        annotations.push(fields::field(feed::ANNOTATION, &feed.qualified())?);
    }
    let request = TriggerRequest {
        parameters: Some(fields::list(trigger, None)).filter(|list| !list.is_empty()),
        annotations: Some(annotations).filter(|list| !list.is_empty()),
        ..TriggerRequest::default()
    };
    put(context, &name, false, request, &what)?;
    if let Some(feed_name) = &feed_name {
        let answer = feed::notify(context, &feed_name.qualified(), Event::Create, &name, &feed);
        match answer {
            Ok(activation) => invoke::succeeded(feed_name, &activation, false)?,
            // Do not leave behind a trigger that nothing will ever fire.
            Err(problem) => {
                let removed = context.of(&name).delete_trigger(&name.name);
                if let Err(cause) = removed.map_err(unable(&what)) {
                    output::note(&format!("trigger {} is left behind: {cause}", name.name));
                }
                return Err(problem);
            }
        }
    }
    show::ok(&format!("created trigger {}", name.name))
}

fn put(
    context: &ClientContext,
    name: &Name,
    overwrite: bool,
    request: TriggerRequest,
    what: &str,
) -> Result<(), Error> {
    let overwrite = Some(overwrite);
    let made = context.of(name).put_trigger(
        &name.name,
        &PutTriggerQuery { overwrite },
        &Placed::new(name, request),
    );
    made.map(drop).map_err(unable(what))
}

fn update(context: &ClientContext, args: &TriggerArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("update trigger '{}'", args.name);
    if args.feed.is_some() {
        return Err(Error::Usage(
            "a trigger keeps its feed: delete the trigger and create it with another one".into(),
        ));
    }
    let existing = found(context.of(&name).get_trigger(&name.name), &what)?;
    let feed_name = existing.as_ref().and_then(|it| feed::of(&it.annotations));
    let Parameters { trigger, feed } = parameters(args, feed_name.is_some())?;
    let given = fields::annotations(&args.annotations)?;
    // The annotations in a request replace all others, so that of the feed must be among them.
    let kept = existing.map_or_else(Vec::new, |it| it.annotations);
    let annotations = given.map(|mut given| {
        let feed = kept.into_iter().find(|it| it.key == feed::ANNOTATION);
        given.retain(|other| other.key != feed::ANNOTATION);
        given.extend(feed);
        given
    });
    let request = TriggerRequest {
        parameters: Some(fields::list(trigger, None)).filter(|list| !list.is_empty()),
        annotations,
        ..TriggerRequest::default()
    };
    put(context, &name, true, request, &what)?;
    if let Some(feed_name) = &feed_name {
        show::json(&feed::notify(
            context,
            feed_name,
            Event::Update,
            &name,
            &feed,
        )?)?;
    }
    show::ok(&format!("updated trigger {}", name.name))
}

fn fire(context: &ClientContext, args: &FireArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("fire trigger '{}'", args.name);
    let mut body = match &args.payload {
        None => Params::new(),
        Some(payload) => serde_json::from_str(payload)
            .map_err(|cause| Error::Usage(format!("the payload is no JSON object: {cause}")))?,
    };
    body.extend(fields::params(&args.params)?);
    let fired = context.of(&name).fire(&name.name, &body);
    let fired = fired.map_err(unable(&what))?;
    let Some(fired) = fired else {
        return output::line(&format!(
            "trigger {} did not fire as it is not associated with an active rule",
            name.qualified()
        ));
    };
    let fired = fired.read().map_err(unable(&what))?;
    show::ok(&format!(
        "triggered {} with id {}",
        name.qualified(),
        fired.activation_id
    ))
}

fn get(context: &ClientContext, args: &EntityGetArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("get trigger '{}'", args.name);
    let answer = context.of(&name).get_trigger(&name.name);
    let answer = answer.map_err(unable(&what))?;
    let existing = answer.read().map_err(unable(&what))?;
    if args.summary {
        let name = entity::qualified(&existing.namespace, &existing.name);
        let (annotations, parameters) = (&existing.annotations, &existing.parameters);
        return show::summary("trigger", &name, annotations, parameters);
    }
    let feed = feed::of(&existing.annotations).filter(|_| args.field.is_none());
    if let Some(feed) = feed
        && let Some(of_feed) = feed_answer(context, &feed, Event::Read, &name)
    {
        return show::json(&of_feed);
    }
    show::entity(
        &format!("trigger {}", name.name),
        answer.text(),
        args.field.as_deref(),
    )
}

/// Returns a feed's answer. A failure is printed, but is no reason to give up: a trigger may well outlive its feed.
fn feed_answer(
    context: &ClientContext,
    feed: &str,
    event: Event,
    trigger: &Name,
) -> Option<String> {
    feed::notify(context, feed, event, trigger, &Params::new())
        .inspect_err(|problem| output::note(&problem.to_string()))
        .ok()
}

fn delete(context: &ClientContext, args: &EntityArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("delete trigger '{}'", args.name);
    let existing = parsed(context.of(&name).get_trigger(&name.name), &what)?;
    if let Some(feed) = feed::of(&existing.annotations)
        && let Some(of_feed) = feed_answer(context, &feed, Event::Delete, &name)
    {
        show::json(&of_feed)?;
    }
    let deleted = context.of(&name).delete_trigger(&name.name);
    deleted.map_err(unable(&what))?;
    show::ok(&format!("deleted trigger {}", name.name))
}

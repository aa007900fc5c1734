//! `action`.

use burst_client::reqwest::Method;
use burst_client::{ActionRequest, KeyValue, LimitsRequest};

use super::entity::{self, Entity};
use super::exec::{self, Made};
use super::name::Name;
use super::session::{ACTIONS, Session, read};
use super::{fields, invoke, lists, save, show};
use crate::args::wsk::action::{ActionArgs, ActionGetArgs, ActionVerb, Web};
use crate::error::Error;
use crate::output;

/// Does what is asked for.
pub fn run(verb: &ActionVerb, session: &Session) -> Result<(), Error> {
    match verb {
        ActionVerb::Create(args) => put(session, args, false),
        ActionVerb::Update(args) => put(session, args, true),
        ActionVerb::Invoke(args) => invoke::run(session, args),
        ActionVerb::Get(args) => get(session, args),
        ActionVerb::List(args) => lists::run(session, ACTIONS, args),
        ActionVerb::Delete(args) => {
            let name = Name::parse(&args.name, &session.namespace)?;
            let ask = session.entity(Method::DELETE, ACTIONS, &name);
            ask.send(&format!("delete action '{}'", args.name))?;
            show::ok(&format!("deleted action {}", name.path()))
        }
    }
}

fn put(session: &Session, args: &ActionArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse(&args.name, &session.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let what = format!("{verb} action '{}'", args.name);
    let (exec, copied_parameters, mut annotations) = match copied(session, args, &what)? {
        Some((Made { exec }, original)) => {
            (Some(exec), Some(original.parameters), original.annotations)
        }
        None => (exec::of(args, &session.namespace)?, None, Vec::new()),
    };
    if exec.is_none() && !overwrite {
        return Err(Error::Usage(
            "an action is made of something: name a file, or use --docker, --sequence or --copy"
                .into(),
        ));
    }
    let before: Option<Entity> = if overwrite {
        let ask = session.entity(Method::GET, ACTIONS, &name);
        ask.query("code", false).find(&what)?
    } else {
        None
    };
    let given = fields::annotations(&args.annotations)?.unwrap_or_default();
    let old = before.as_ref().map_or(&[][..], |it| &it.annotations[..]);
    let of_web = web(args, old)?;
    for field in given.into_iter().chain(of_web) {
        annotations.retain(|other| other.key != field.key);
        annotations.push(field);
    }
    let given = [args.timeout, args.memory, args.logsize, args.concurrency];
    let limits = LimitsRequest {
        timeout: args.timeout.map(u64::from),
        memory: args.memory,
        logs: args.logsize,
        concurrency: args.concurrency,
    };
    let request = ActionRequest {
        exec,
        parameters: parameters(args)?.or(copied_parameters),
        annotations: Some(annotations).filter(|fields| !fields.is_empty()),
        del_annotations: Some(args.del_annotation.clone()).filter(|names| !names.is_empty()),
        limits: given.iter().any(Option::is_some).then_some(limits),
        ..ActionRequest::default()
    };
    entity::put(session, ACTIONS, &name, overwrite, request, &what)?;
    show::ok(&format!("{verb}d action {}", name.path()))
}

/// Parameters of both kinds, unless nothing is said of either.
fn parameters(args: &ActionArgs) -> Result<Option<Vec<KeyValue>>, Error> {
    let params = fields::parameters(&args.params)?;
    if args.env.is_empty() && args.env_file.is_none() {
        return Ok(params);
    }
    let variables = fields::object(args.env_file.as_deref(), &args.env)?;
    let mut all = params.unwrap_or_default();
    all.extend(fields::list(variables, Some(true)));
    Ok(Some(all))
}

fn copied(
    session: &Session,
    args: &ActionArgs,
    what: &str,
) -> Result<Option<(Made, Entity)>, Error> {
    if !args.copy {
        return Ok(None);
    }
    let Some(original) = &args.artifact else {
        return Err(Error::Usage("--copy needs the action to copy".into()));
    };
    let original = Name::parse(original, &session.namespace)?;
    let ask = session.entity(Method::GET, ACTIONS, &original);
    let text = ask.query("code", true).send(what)?;
    Ok(Some((read(&text, what)?, read(&text, what)?)))
}

/// The annotations that `--web` and `--web-secure` stand for.
fn web(args: &ActionArgs, old: &[KeyValue]) -> Result<Vec<KeyValue>, Error> {
    let mut found = Vec::new();
    if let Some(web) = args.web {
        for (key, value) in [
            ("web-export", web != Web::No),
            ("raw-http", web == Web::Raw),
            ("final", web != Web::No),
        ] {
            found.push(fields::field(key, &value)?);
        }
    }
    if let Some(secure) = &args.web_secure {
        let exported = match args.web {
            Some(web) => web != Web::No,
            None => fields::is_true(old, "web-export"),
        };
        if !exported {
            return Err(Error::Usage(
                "--web-secure is for web actions: use it with --web".into(),
            ));
        }
        let field = match secure.as_str() {
            "" => {
                return Err(Error::Usage(
                    "--web-secure needs a secret that is not empty".into(),
                ));
            }
            "true" => fields::field("require-whisk-auth", &true)?,
            "false" => fields::field("require-whisk-auth", &false)?,
            secret => fields::field("require-whisk-auth", &secret)?,
        };
        found.push(field);
    }
    Ok(found)
}

fn get(session: &Session, args: &ActionGetArgs) -> Result<(), Error> {
    let name = Name::parse(&args.name, &session.namespace)?;
    let what = format!("get action '{}'", args.name);
    let saves = args.save || args.save_as.is_some();
    let ask = session.entity(Method::GET, ACTIONS, &name);
    let text = ask.query("code", saves).send(&what)?;
    if saves {
        return save::run(&read(&text, &what)?, &name, args.save_as.as_deref());
    }
    if args.url {
        show::ok(&format!("got action {}", name.path()))?;
        return output::line(&url(session, &read(&text, &what)?));
    }
    if args.summary {
        let action: Entity = read(&text, &what)?;
        return show::summary("action", &name.qualified(), &action.annotations);
    }
    show::entity(
        &format!("action {}", name.path()),
        &text,
        args.field.as_deref(),
    )
}

fn url(session: &Session, action: &Entity) -> String {
    let Entity {
        namespace, name, ..
    } = action;
    let api = format!("{}/api/v1", session.host());
    let (namespace, package) = match namespace.split_once('/') {
        Some((namespace, package)) => (namespace, Some(package)),
        None => (namespace.as_str(), None),
    };
    if fields::is_true(&action.annotations, "web-export") {
        let package = package.unwrap_or("default");
        return format!("{api}/web/{namespace}/{package}/{name}");
    }
    let path = package.map_or_else(|| name.clone(), |package| format!("{package}/{name}"));
    format!("{api}/namespaces/{namespace}/actions/{path}")
}

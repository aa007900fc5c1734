//! `action`.

use std::io;
use std::time::Duration;

use burst_client::{Action, ActionRequest, KeyValue, LimitsRequest};
use serde_json::Number;
use serde_json::value::RawValue;

use super::client_context::{ClientContext, found, parsed, unable};
use super::entity::{self, Placed};
use super::lists::{self, Collection};
use super::name::Name;
use super::{actions, exec, fields, invoke, save, show};
use crate::args::wsk::action::{ActionArgs, ActionGetArgs, ActionVerb, Web};
use crate::error::Error;
use crate::output;

/// The annotation with the secret that an HTTP caller has to send.
const SECRET: &str = "require-whisk-auth";
/// The largest integer that JavaScript represents exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// Runs an `action` command.
pub fn run(verb: &ActionVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        ActionVerb::Create(args) => put(context, args, false),
        ActionVerb::Update(args) => put(context, args, true),
        ActionVerb::Invoke(args) => invoke::run(context, args),
        ActionVerb::Get(args) => get(context, args),
        ActionVerb::List(args) => lists::run(context, Collection::Actions, args),
        ActionVerb::Delete(args) => {
            let name = Name::parse(&args.name, &context.namespace)?;
            let what = format!("delete action '{}'", args.name);
            actions::delete(context, &name).map_err(unable(&what))?;
            show::ok(&format!("deleted action {}", name.path()))
        }
    }
}

fn put(context: &ClientContext, args: &ActionArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse(&args.name, &context.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let what = format!("{verb} action '{}'", args.name);
    let (exec, parameters, annotations) = match copied(context, args, &what)? {
        Some(original) => {
            let given = parameters(args)?.unwrap_or_default();
            let parameters = fields::over(given, original.parameters);
            (Some(original.exec), Some(parameters), original.annotations)
        }
        None => {
            let exec = exec::of(args, &context.namespace)?;
            (exec, parameters(args)?, Vec::new())
        }
    };
    if exec.is_none() && !overwrite {
        return Err(Error::Usage(
            "an action is made of something: name a file, or use --docker, --sequence or --copy"
                .into(),
        ));
    }
    let before = if overwrite {
        found(actions::get(context, &name, false), &what)?
    } else {
        None
    };
    let given = fields::annotations(&args.annotations)?.unwrap_or_default();
    let given = fields::over(given, annotations);
    let old = before.map_or_else(Vec::new, |it| it.annotations);
    let annotations = fields::over(web(args, &given, &old)?, given);
    let given = [args.timeout, args.memory, args.logsize, args.concurrency];
    let limits = LimitsRequest {
        timeout: args
            .timeout
            .map(|millis| Duration::from_millis(millis.into())),
        memory: args.memory,
        logs: args.logsize,
        concurrency: args.concurrency,
    };
    let request = ActionRequest {
        exec,
        parameters,
        annotations: Some(annotations).filter(|fields| !fields.is_empty()),
        del_annotations: Some(args.del_annotation.clone()).filter(|names| !names.is_empty()),
        limits: given.iter().any(Option::is_some).then_some(limits),
        ..ActionRequest::default()
    };
    let request = Placed::new(&name, request);
    actions::put(context, &name, overwrite, &request).map_err(unable(&what))?;
    show::ok(&format!("{verb}d action {}", name.path()))
}

/// Returns parameters and environment variables; `None` if neither is given.
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

fn copied(context: &ClientContext, args: &ActionArgs, what: &str) -> Result<Option<Action>, Error> {
    if !args.copy {
        return Ok(None);
    }
    let Some(original) = &args.artifact else {
        return Err(Error::Usage("--copy needs the action to copy".into()));
    };
    let original = Name::parse(original, &context.namespace)?;
    parsed(actions::get(context, &original, true), what).map(Some)
}

/// Returns the annotations that `--web` and `--web-secure` stand for, with regard to the annotations given and the
/// existing ones.
fn web(args: &ActionArgs, given: &[KeyValue], old: &[KeyValue]) -> Result<Vec<KeyValue>, Error> {
    let known = |key| fields::find(given, key).or_else(|| fields::find(old, key));
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
            None => known("web-export").is_some_and(|value| value.get() == "true"),
        };
        if !exported {
            return Err(Error::Usage(
                "--web-secure is for web actions: use it with --web".into(),
            ));
        }
        found.push(match secure.to_ascii_lowercase().as_str() {
            "" => {
                return Err(Error::Usage(
                    "--web-secure needs a secret that is not empty".into(),
                ));
            }
            "true" => match known(SECRET).filter(|value| is_number(value)) {
                // The action's callers already know this number.
                Some(number) => fields::field(SECRET, &number)?,
                None => fields::field(SECRET, &random()?)?,
            },
            "false" => fields::field(SECRET, &false)?,
            _ => fields::field(SECRET, secure)?,
        });
    }
    Ok(found)
}

fn is_number(value: &RawValue) -> bool {
    value.get().parse::<Number>().is_ok()
}

/// Returns a number that nobody can guess.
fn random() -> Result<u64, Error> {
    let random = getrandom::u64().map_err(|cause| Error::File {
        action: "read",
        path: "/dev/urandom".into(),
        cause: io::Error::other(cause.to_string()),
    })?;
    Ok(random & LARGEST)
}

fn get(context: &ClientContext, args: &ActionGetArgs) -> Result<(), Error> {
    let name = Name::parse(&args.name, &context.namespace)?;
    let what = format!("get action '{}'", args.name);
    let saves = args.save || args.save_as.is_some();
    let answer = actions::get(context, &name, saves).map_err(unable(&what))?;
    let action = || answer.read().map_err(unable(&what));
    if saves {
        return save::run(&action()?.exec, &name, args.save_as.as_deref());
    }
    if args.url {
        show::ok(&format!("got action {}", name.path()))?;
        return output::line(&url(context, &action()?));
    }
    if args.summary {
        let action = action()?;
        let name = entity::qualified(&action.namespace, &action.name);
        return show::summary("action", &name, &action.annotations, &action.parameters);
    }
    show::entity(
        &format!("action {}", name.path()),
        answer.text(),
        args.field.as_deref(),
    )
}

fn url(context: &ClientContext, action: &Action) -> String {
    let Action {
        namespace, name, ..
    } = action;
    let api = format!("{}/api/v1", context.host());
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

//! `action`.

use burst_client::reqwest::Method;
use serde::{Deserialize, Serialize};

use super::exec::{self, Exec};
use super::fields::{self, Field};
use super::name::Name;
use super::session::{ACTIONS, Session, read};
use super::{invoke, lists, save, show};
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

#[derive(Serialize)]
struct Body {
    namespace: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exec: Option<Exec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<Field>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Vec<Field>>,
    #[serde(rename = "delAnnotations", skip_serializing_if = "Vec::is_empty")]
    removed_annotations: Vec<String>,
    #[serde(skip_serializing_if = "Limits::is_empty")]
    limits: Limits,
}

#[derive(Serialize)]
struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
}

impl Limits {
    fn is_empty(&self) -> bool {
        let all = [self.timeout, self.memory, self.logs, self.concurrency];
        all.iter().all(Option::is_none)
    }
}

/// What of an action is needed to change or copy it.
#[derive(Deserialize)]
struct Existing {
    #[serde(default)]
    annotations: Vec<Field>,
    #[serde(default)]
    parameters: Vec<Field>,
    exec: Option<Exec>,
}

fn put(session: &Session, args: &ActionArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse(&args.name, &session.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let what = format!("{verb} action '{}'", args.name);
    let copied = copied(session, args, &what)?;
    let exec = match &copied {
        Some(original) => original.exec.clone(),
        None => exec::of(args, &session.namespace)?,
    };
    if exec.is_none() && !overwrite {
        return Err(Error::Usage(
            "an action is made of something: name a file, or use --docker, --sequence or --copy"
                .into(),
        ));
    }
    let before = if overwrite {
        existing(session, &name, &what)?
    } else {
        None
    };
    let (copied_parameters, mut annotations) = match copied {
        Some(original) => (Some(original.parameters), original.annotations),
        None => (None, Vec::new()),
    };
    let given = fields::annotations(&args.annotations)?.unwrap_or_default();
    let old = before.as_ref().map_or(&[][..], |it| &it.annotations[..]);
    let of_web = web(args, old)?;
    for field in given.into_iter().chain(of_web) {
        annotations.retain(|other| other.key != field.key);
        annotations.push(field);
    }
    let body = Body {
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        exec,
        parameters: parameters(args)?.or(copied_parameters),
        annotations: Some(annotations).filter(|fields| !fields.is_empty()),
        removed_annotations: args.del_annotation.clone(),
        limits: Limits {
            timeout: args.timeout,
            memory: args.memory,
            logs: args.logsize,
            concurrency: args.concurrency,
        },
    };
    let ask = session.entity(Method::PUT, ACTIONS, &name);
    ask.query("overwrite", overwrite).body(&body)?.send(&what)?;
    show::ok(&format!("{verb}d action {}", name.path()))
}

/// Parameters of both kinds, unless nothing is said of either.
fn parameters(args: &ActionArgs) -> Result<Option<Vec<Field>>, Error> {
    let params = fields::parameters(&args.params)?;
    if args.env.is_empty() && args.env_file.is_none() {
        return Ok(params);
    }
    let variables = fields::object(args.env_file.as_deref(), &args.env)?;
    let mut all = params.unwrap_or_default();
    all.extend(fields::list(variables, true));
    Ok(Some(all))
}

fn copied(session: &Session, args: &ActionArgs, what: &str) -> Result<Option<Existing>, Error> {
    if !args.copy {
        return Ok(None);
    }
    let Some(original) = &args.artifact else {
        return Err(Error::Usage("--copy needs the action to copy".into()));
    };
    let original = Name::parse(original, &session.namespace)?;
    let ask = session.entity(Method::GET, ACTIONS, &original);
    ask.query("code", true).read(what).map(Some)
}

/// The action as it is, if there is one.
fn existing(session: &Session, name: &Name, what: &str) -> Result<Option<Existing>, Error> {
    let ask = session.entity(Method::GET, ACTIONS, name);
    let reply = ask.query("code", false).reply(what)?;
    if reply.is_success() {
        return read(&reply.text, what).map(Some);
    }
    if reply.status == 404 {
        return Ok(None);
    }
    Err(super::session::unable(what)(reply.refusal()))
}

/// The annotations that `--web` and `--web-secure` stand for.
fn web(args: &ActionArgs, old: &[Field]) -> Result<Vec<Field>, Error> {
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
        let existing: Existing = read(&text, &what)?;
        return show::summary("action", &name.qualified(), &existing.annotations);
    }
    show::entity(
        &format!("action {}", name.path()),
        &text,
        args.field.as_deref(),
    )
}

/// An action's place, as far as its addresses need it.
#[derive(Deserialize)]
struct Place {
    /// With its package.
    namespace: String,
    name: String,
    #[serde(default)]
    annotations: Vec<Field>,
}

fn url(session: &Session, place: &Place) -> String {
    let Place {
        namespace, name, ..
    } = place;
    let api = format!("{}/api/v1", session.host());
    let (namespace, package) = match namespace.split_once('/') {
        Some((namespace, package)) => (namespace, Some(package)),
        None => (namespace.as_str(), None),
    };
    if fields::is_true(&place.annotations, "web-export") {
        let package = package.unwrap_or("default");
        return format!("{api}/web/{namespace}/{package}/{name}");
    }
    let path = package.map_or_else(|| name.clone(), |package| format!("{package}/{name}"));
    format!("{api}/namespaces/{namespace}/actions/{path}")
}

//! `api`: paths and verbs of HTTP that lead to web actions.

use std::collections::BTreeMap;
use std::fs;

use burst_client::reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::entity::Entity;
use super::name::{Name, OWN};
use super::session::{ACTIONS, Ask, Session};
use super::{fields, show};
use crate::args::wsk::api::{
    ApiCreateArgs, ApiGetArgs, ApiListArgs, ApiPathArgs, ApiVerb, ResponseType,
};
use crate::error::Error;
use crate::output;

/// Verbs of HTTP that an API may have.
const VERBS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// Does what is asked for.
pub fn run(verb: &ApiVerb, session: &Session) -> Result<(), Error> {
    match verb {
        ApiVerb::Create(args) => create(session, args),
        ApiVerb::Get(args) => get(session, args),
        ApiVerb::List(args) => list(session, args),
        ApiVerb::Delete(args) => {
            let path = args.path.as_deref();
            let verb = args.verb.as_deref().map(lower).transpose()?;
            let ask = gateway(session, Method::DELETE, "deleteApi")
                .query("basepath", &args.base)
                .query_if("relpath", path)
                .query_if("operation", verb)
                .query("force", true);
            ask.send("delete API")?;
            let path = args.path.as_deref().unwrap_or_default();
            show::ok(&match &args.verb {
                Some(verb) => format!("deleted API {path} {verb} from {}", args.base),
                None if path.is_empty() => format!("deleted API {}", args.base),
                None => format!("deleted API {path} from {}", args.base),
            })
        }
    }
}

/// A call of the gateway's, which is a web action.
fn gateway<'a>(session: &'a Session, method: Method, call: &str) -> Ask<'a> {
    let call = format!("{call}.http");
    let path = ["api", "v1", "web", "whisk.system", "apimgmt", &call];
    // The gateway of another platform asks for these; they say here that it is the caller.
    session
        .ask(method, &path)
        .query("accesstoken", session.auth())
        .query(
            "spaceguid",
            session.auth().split(':').next().unwrap_or_default(),
        )
}

/// An API as the gateway shows it.
#[derive(Deserialize)]
struct Api {
    #[serde(rename = "gwApiUrl", default)]
    url: String,
    #[serde(rename = "apidoc")]
    swagger: Value,
}

#[derive(Deserialize)]
struct Apis {
    apis: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    value: Api,
}

fn create(session: &Session, args: &ApiCreateArgs) -> Result<(), Error> {
    let what = "create API";
    let (document, said) = match &args.config_file {
        Some(path) => {
            let swagger = fs::read_to_string(path).map_err(Error::file("read", path))?;
            let shown = path.display();
            let _: Map<String, Value> = serde_json::from_str(&swagger)
                .map_err(|cause| Error::Usage(format!("{shown} is no JSON object: {cause}")))?;
            let document = json!({"namespace": session.namespace, "swagger": swagger});
            (document, None)
        }
        None => of_action(session, args, what)?,
    };
    let ask = gateway(session, Method::POST, "createApi");
    let ask = ask.query("responsetype", extension(args.response_type));
    let made: Api = ask.body(&json!({"apidoc": document}))?.read(what)?;
    let mut lines = Vec::new();
    match said {
        Some((relative, said)) => {
            show::ok(&said)?;
            lines.push(joined(&made.url, &relative));
        }
        None => {
            for route in routes(&made) {
                let Route {
                    path,
                    verb,
                    action,
                    url,
                    ..
                } = route;
                show::ok(&format!("created API {path} {verb} for action {action}"))?;
                lines.push(url);
            }
        }
    }
    lines.iter().try_for_each(|line| output::line(line))
}

/// What is sent of one path: the document, its relative path, and what is said when it is there.
fn of_action(
    session: &Session,
    args: &ApiCreateArgs,
    what: &str,
) -> Result<(Value, Option<(String, String)>), Error> {
    let (base, path, verb, action_name) = match &args.what[..] {
        [base, path, verb, action] => (base.as_str(), path, verb, action),
        [path, verb, action] => ("/", path, verb, action),
        _ => return Err(Error::Usage("write [BASE_PATH] PATH VERB ACTION".into())),
    };
    if args.apiname.is_some() && args.what.len() == 3 {
        return Err(Error::Usage(
            "an API with a name needs its base path, too".into(),
        ));
    }
    for path in [base, path] {
        if !path.starts_with('/') {
            return Err(Error::Usage(format!(
                "\"{path}\" is not a path: it begins with /"
            )));
        }
    }
    let verb = lower(verb)?;
    let name = Name::parse(action_name, &session.namespace)?;
    let ask = session.entity(Method::GET, ACTIONS, &name);
    let target: Entity = ask.query("code", false).read(what)?;
    if !fields::is_true(&target.annotations, "web-export") {
        return Err(Error::Usage(format!(
            "action {} is no web action: `action update {} --web true` makes it one",
            name.path(),
            name.path()
        )));
    }
    let secure = fields::find(&target.annotations, "require-whisk-auth");
    let secure: Option<Value> = secure.and_then(|value| serde_json::from_str(value.get()).ok());
    let namespace = target.namespace.split('/').next().unwrap_or(OWN);
    let package = name.package.as_deref().unwrap_or("default");
    let extension = extension(args.response_type);
    let mut about = json!({
        "name": name.path(),
        "namespace": namespace,
        "backendMethod": verb.to_uppercase(),
        "backendUrl": format!(
            "{}/api/v1/web/{namespace}/{package}/{}.{extension}",
            session.host(),
            name.name
        ),
        "authkey": session.auth(),
    });
    if let Some(secure) = secure.filter(|it| !it.is_boolean()) {
        about["secureKey"] = secure;
    }
    let mut document = json!({
        "namespace": namespace,
        "gatewayBasePath": base,
        "gatewayPath": path,
        "gatewayMethod": verb.to_uppercase(),
        "id": format!("API:{namespace}:{base}"),
        "action": about,
    });
    let parameters = path_parameters(path);
    if !parameters.is_empty() {
        document["pathParameters"] = parameters.into();
    }
    if let Some(apiname) = &args.apiname {
        document["apiName"] = apiname.as_str().into();
    }
    let whole = joined(base.trim_end_matches('/'), path);
    let qualified = name.qualified();
    let said = format!(
        "created API {whole} {} for action {qualified}",
        verb.to_uppercase()
    );
    Ok((document, Some((path.clone(), said))))
}

/// What stands in braces of a path, as Swagger describes it.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| json!({"name": name, "in": "path", "required": true, "type": "string"}))
        .collect()
}

fn extension(kind: ResponseType) -> &'static str {
    match kind {
        ResponseType::Http => "http",
        ResponseType::Json => "json",
        ResponseType::Text => "text",
        ResponseType::Svg => "svg",
        ResponseType::Html => "html",
    }
}

fn lower(verb: &str) -> Result<String, Error> {
    let lower = verb.to_ascii_lowercase();
    if VERBS.contains(&lower.as_str()) {
        return Ok(lower);
    }
    let all = VERBS.join(", ");
    Err(Error::Usage(format!(
        "\"{verb}\" is no verb of HTTP: there are {all}"
    )))
}

fn joined(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

/// The APIs that are asked for.
fn find(
    session: &Session,
    base: Option<&str>,
    path: Option<&str>,
    verb: Option<&str>,
    page: Option<(u32, u32)>,
) -> Result<Vec<Api>, Error> {
    let verb = verb.map(lower).transpose()?;
    let (limit, skip) = page.unzip();
    let ask = gateway(session, Method::GET, "getApi")
        .query_if("basepath", base)
        .query_if("relpath", path)
        .query_if("operation", verb)
        .query_if("limit", limit)
        .query_if("skip", skip);
    let found: Apis = ask.read("obtain the API list")?;
    Ok(found.apis.into_iter().map(|listed| listed.value).collect())
}

fn get(session: &Session, args: &ApiGetArgs) -> Result<(), Error> {
    let ApiPathArgs { base, path, verb } = &args.which;
    let found = find(session, Some(base), path.as_deref(), verb.as_deref(), None)?;
    let Some(api) = found.into_iter().next() else {
        return Err(Error::NotFound(format!("there is no API \"{base}\"")));
    };
    let part = match path {
        Some(path) if !args.full => api.swagger["paths"].get(path),
        _ => Some(&api.swagger),
    };
    let Some(part) = part else {
        return Err(Error::NotFound(format!("API \"{base}\" has no such path")));
    };
    show::json(&part.to_string())
}

/// A path and a verb of an API.
struct Route {
    action: String,
    verb: String,
    name: String,
    base: String,
    path: String,
    url: String,
}

/// All that an API has, by path and verb.
fn routes(api: &Api) -> Vec<Route> {
    let swagger = &api.swagger;
    let base = swagger["basePath"].as_str().unwrap_or("/");
    let name = swagger["info"]["title"].as_str().unwrap_or(base);
    let none = Map::new();
    let paths = swagger["paths"].as_object().unwrap_or(&none);
    let paths: BTreeMap<_, _> = paths.iter().collect();
    let mut found = Vec::new();
    for (path, verbs) in paths {
        for (verb, operation) in verbs.as_object().unwrap_or(&none) {
            if !VERBS.contains(&verb.as_str()) {
                continue;
            }
            let target = &operation["x-openwhisk"];
            let part = |key: &str| target[key].as_str().unwrap_or_default();
            let package = Some(part("package")).filter(|it| !it.is_empty() && *it != "default");
            let package = package.map_or_else(String::new, |it| format!("{it}/"));
            found.push(Route {
                action: format!("/{}/{package}{}", part("namespace"), part("action")),
                verb: verb.clone(),
                name: name.into(),
                base: base.into(),
                path: path.clone(),
                url: joined(&api.url, path),
            });
        }
    }
    found
}

fn list(session: &Session, args: &ApiListArgs) -> Result<(), Error> {
    let (base, path, verb) = (
        args.base.as_deref(),
        args.path.as_deref(),
        args.verb.as_deref(),
    );
    let page = base.is_none().then_some((args.limit, args.skip));
    let found = find(session, base, path, verb, page)?;
    let listed: Vec<Route> = found.iter().flat_map(routes).collect();
    show::ok("APIs")?;
    let mut lines = Vec::new();
    if args.full {
        for route in &listed {
            lines.extend([
                format!("Action: {}", route.action),
                format!("  API Name: {}", route.name),
                format!("  Base path: {}", route.base),
                format!("  Path: {}", route.path),
                format!("  Verb: {}", route.verb),
                format!("  URL: {}", route.url),
            ]);
        }
    } else {
        let wide = |of: fn(&Route) -> usize, head: &str| {
            listed
                .iter()
                .map(of)
                .max()
                .unwrap_or_default()
                .max(head.len())
        };
        let action = wide(|route| route.action.chars().count(), "Action");
        let name = wide(|route| route.name.chars().count(), "API Name");
        lines.push(format!(
            "{:<action$} {:>7}  {:<name$}  URL",
            "Action", "Verb", "API Name"
        ));
        for route in &listed {
            lines.push(format!(
                "{:<action$} {:>7}  {:<name$}  {}",
                route.action, route.verb, route.name, route.url
            ));
        }
    }
    output::line(&lines.join("\n"))
}

//! `api create`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use burst_client::{Answer, CreateApiQuery, WebExtension};
use serde_json::{Map, Value, json};

use super::routes::{self, Route};
use super::{Api, joined, lower};
use crate::args::wsk::api::{ApiCreateArgs, ResponseType};
use crate::error::Error;
use crate::output;
use crate::wsk::client_context::{ClientContext, parsed};
use crate::wsk::name::{Name, OWN};
use crate::wsk::{actions, fields, show};

/// Creates an API as the command line or a file describes it.
pub fn run(context: &ClientContext, args: &ApiCreateArgs) -> Result<(), Error> {
    let what = "create API";
    let (document, created) = match &args.config_file {
        Some(path) => {
            let swagger = swagger(path)?;
            let document = json!({"namespace": context.namespace, "swagger": swagger});
            (document, None)
        }
        None => of_action(context, args, what)?,
    };
    let query = CreateApiQuery {
        responsetype: Some(extension(args.response_type)),
    };
    let request = json!({"apidoc": document});
    let made = context.client().create_api(&query, &request);
    let made: Api = parsed(made.map(Answer::cast), what)?;
    if let Some((relative, message)) = created {
        show::ok(&message)?;
        return output::line(&joined(&made.url, &relative));
    }
    for route in routes::of(&made) {
        let Route {
            path,
            verb,
            action,
            base,
            url,
            ..
        } = route;
        let mut message = format!("created API {} {verb}", joined(&base, &path));
        if !action.is_empty() {
            message += &format!(" for action {action}");
        }
        show::ok(&message)?;
        output::line(&url)?;
    }
    Ok(())
}

/// Returns the text of a Swagger file as JSON, converted from YAML if necessary.
fn swagger(path: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let is_no = |form: &str, cause: &dyn std::fmt::Display| {
        Error::Usage(format!("{} is no {form} object: {cause}", path.display()))
    };
    let ending = path.extension().and_then(OsStr::to_str);
    if !matches!(ending, Some("yaml" | "yml")) {
        let _: Map<String, Value> =
            serde_json::from_str(&text).map_err(|cause| is_no("JSON", &cause))?;
        return Ok(text);
    }
    let read = || -> yaml_serde::Result<Value> {
        let mut document: yaml_serde::Value = yaml_serde::from_str(&text)?;
        document.apply_merge()?;
        // Keys that are not strings, such as 200 among responses, become strings.
        serde_json::to_value(document).map_err(serde::ser::Error::custom)
    };
    match read() {
        Ok(document @ Value::Object(_)) => Ok(document.to_string()),
        Ok(other) => Err(is_no("YAML", &other)),
        Err(cause) => Err(is_no("YAML", &cause)),
    }
}

/// Returns what to send for one path: the document, its relative path, and the line to print once
/// it exists.
fn of_action(
    context: &ClientContext,
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
    let name = Name::parse(action_name, &context.namespace)?;
    let target = parsed(actions::get(context, &name, false), what)?;
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
            context.host(),
            name.name
        ),
        "authkey": context.auth(),
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
    let message = format!(
        "created API {whole} {} for action {qualified}",
        verb.to_uppercase()
    );
    Ok((document, Some((path.clone(), message))))
}

/// Returns the parameters of a path, which are in braces, as Swagger describes them.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| json!({"name": name, "in": "path", "required": true, "type": "string"}))
        .collect()
}

fn extension(kind: ResponseType) -> WebExtension {
    match kind {
        ResponseType::Http => WebExtension::Http,
        ResponseType::Json => WebExtension::Json,
        ResponseType::Text => WebExtension::Text,
        ResponseType::Svg => WebExtension::Svg,
        ResponseType::Html => WebExtension::Html,
    }
}

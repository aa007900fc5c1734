//! `api`: HTTP paths and verbs that lead to web actions.

mod create;
mod routes;

use burst_client::{Answer, DeleteApiQuery, ListApisQuery};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client_context::{ClientContext, parsed, read, unable};
use super::show;
use crate::args::wsk::api::{ApiFormat, ApiGetArgs, ApiPathArgs, ApiVerb};
use crate::error::Error;
use crate::output;

/// The HTTP verbs that an API can have.
const VERBS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// Runs an `api` command.
pub fn run(verb: &ApiVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        ApiVerb::Create(args) => create::run(context, args),
        ApiVerb::Get(args) => get(context, args),
        ApiVerb::List(args) => routes::list(context, args),
        ApiVerb::Delete(args) => delete(context, args),
    }
}

/// An API, with its document as a parsed value: the type generated from openapi.yaml keeps it as text.
#[derive(Deserialize)]
struct Api {
    #[serde(rename = "gwApiUrl", default)]
    url: String,
    #[serde(rename = "apidoc")]
    swagger: Value,
}

/// The listed APIs, each unparsed, since all of it is shown: the types generated from openapi.yaml would lose fields
/// that they do not know.
#[derive(Deserialize)]
struct Apis {
    apis: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    value: Box<RawValue>,
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

/// Returns the requested APIs, unparsed.
fn find(
    context: &ClientContext,
    base: Option<&str>,
    path: Option<&str>,
    verb: Option<&str>,
    page: Option<(u32, u32)>,
) -> Result<Vec<Box<RawValue>>, Error> {
    let (limit, skip) = page.unzip();
    let query = ListApisQuery {
        basepath: base.map(str::to_owned),
        relpath: path.map(str::to_owned),
        operation: verb.map(lower).transpose()?,
        limit,
        skip,
    };
    let answer = context.client().list_apis(&query).map(Answer::cast);
    let found: Apis = parsed(answer, "obtain the API list")?;
    Ok(found.apis.into_iter().map(|listed| listed.value).collect())
}

fn get(context: &ClientContext, args: &ApiGetArgs) -> Result<(), Error> {
    let ApiPathArgs { base, path, verb } = &args.which;
    let what = format!("get API '{base}'");
    let found = find(context, Some(base), path.as_deref(), verb.as_deref(), None)?;
    let Some(whole) = found.into_iter().next() else {
        return Err(Error::NotFound(format!("there is no API \"{base}\"")));
    };
    if args.full {
        return print(whole.get(), args.format, &what);
    }
    let api: Api = read(whole.get(), &what)?;
    let part = match path {
        Some(path) => api.swagger["paths"].get(path),
        None => Some(&api.swagger),
    };
    let Some(part) = part else {
        return Err(Error::NotFound(format!("API \"{base}\" has no such path")));
    };
    print(&part.to_string(), args.format, &what)
}

fn print(json: &str, format: ApiFormat, what: &str) -> Result<(), Error> {
    match format {
        ApiFormat::Json => show::json(json),
        ApiFormat::Yaml => {
            let yaml = yaml_serde::to_string(&read::<Value>(json, what)?);
            let yaml = yaml.map_err(|cause| Error::Usage(cause.to_string()))?;
            output::line(yaml.trim_end())
        }
    }
}

fn delete(context: &ClientContext, args: &ApiPathArgs) -> Result<(), Error> {
    let ApiPathArgs { base, path, verb } = args;
    let query = DeleteApiQuery {
        basepath: Some(base.clone()),
        relpath: path.clone(),
        operation: verb.as_deref().map(lower).transpose()?,
    };
    let deleted = context.client().delete_api(&query);
    deleted.map_err(unable("delete API"))?;
    show::ok(&match (path, verb) {
        (None, _) => format!("deleted API {base}"),
        (Some(path), None) => format!("deleted {path} from {base}"),
        (Some(path), Some(verb)) => {
            format!("deleted {path} {} from {base}", verb.to_ascii_uppercase())
        }
    })
}

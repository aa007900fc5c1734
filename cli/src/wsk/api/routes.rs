//! The routes of APIs, and `api list`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Api, VERBS, find, joined};
use crate::args::wsk::api::ApiListArgs;
use crate::error::Error;
use crate::output;
use crate::wsk::client_context::{ClientContext, read};
use crate::wsk::show;

/// The widest column, which only names that no platform permits would exceed.
const WIDEST: usize = 1000;

/// A path and a verb of an API.
pub struct Route {
    /// `/NAMESPACE/[PACKAGE/]NAME`, or empty if the route does not lead to an action.
    pub action: String,
    /// In lower case.
    pub verb: String,
    name: String,
    /// The base path alone.
    pub base: String,
    /// The path below the base path.
    pub path: String,
    /// The URL at which it is reached.
    pub url: String,
}

/// Returns all routes of an API, by path and verb.
pub fn of(api: &Api) -> Vec<Route> {
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
            found.push(Route {
                action: action(&operation["x-openwhisk"]),
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

fn action(target: &Value) -> String {
    if target.is_null() {
        return String::new();
    }
    let part = |key: &str| target[key].as_str().unwrap_or_default();
    let package = Some(part("package")).filter(|it| !it.is_empty() && *it != "default");
    let package = package.map_or_else(String::new, |it| format!("{it}/"));
    format!("/{}/{package}{}", part("namespace"), part("action"))
}

/// Prints the routes of APIs, a line or a paragraph each.
pub fn list(context: &ClientContext, args: &ApiListArgs) -> Result<(), Error> {
    let (base, path, verb) = (
        args.base.as_deref(),
        args.path.as_deref(),
        args.verb.as_deref(),
    );
    let page = base.is_none().then_some((args.limit, args.skip));
    let found = find(context, base, path, verb, page)?;
    let mut listed = Vec::new();
    for api in found {
        listed.extend(of(&read(api.get(), "obtain the API list")?));
    }
    if args.name_sort {
        listed.sort_by_key(|route| {
            let Route {
                name, path, verb, ..
            } = route;
            format!("{name}{path}{verb}").to_lowercase()
        });
    }
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
                .min(WIDEST)
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

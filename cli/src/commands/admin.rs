//! `burst admin`.

use serde_json::json;

use crate::api::{CreatedNamespace, Limits, Listed, Namespace};
use crate::args::admin::{
    AdminAction, AnyFlareAction, AnyGroupAction, CreateArgs, NamespaceAction,
};
use crate::args::{GlobalArgs, PageArgs};
use crate::client::Client;
use crate::error::Error;
use crate::output;

const NAMESPACES: [&str; 2] = ["admin", "namespaces"];

/// Does what the administrator asks.
pub fn run(action: &AdminAction, args: &GlobalArgs) -> Result<(), Error> {
    let client = Client::administrator(args)?;
    match action {
        AdminAction::Namespace(action) => namespace(&client, action, args),
        AdminAction::Flare(AnyFlareAction::List {
            namespace,
            state,
            page,
        }) => {
            let only = [("namespace", namespace), ("state", state)];
            any(&client, ("flares", "FLARE"), &only, page, args)
        }
        AdminAction::Flare(AnyFlareAction::Cancel { id }) => {
            let answer = client.delete_at(&["admin", "flares", id])?;
            output::answer(args.output, &answer, || {
                Ok(format!("ok: cancelling flare {id}"))
            })
        }
        AdminAction::Group(AnyGroupAction::List { namespace, page }) => {
            let only = [("namespace", namespace)];
            any(&client, ("groups", "GROUP"), &only, page, args)
        }
        AdminAction::Group(AnyGroupAction::Close { id }) => {
            let answer = client.delete_at(&["admin", "groups", id])?;
            output::answer(args.output, &answer, || {
                Ok(format!("ok: closing group {id}"))
            })
        }
    }
}

fn namespace(client: &Client, action: &NamespaceAction, args: &GlobalArgs) -> Result<(), Error> {
    match action {
        NamespaceAction::Create(wanted) => create(client, wanted, args),
        NamespaceAction::List(page) => list(client, page, args),
        NamespaceAction::Revoke { name } => {
            let answer = client.delete_at(&path(name))?;
            output::answer(args.output, &answer, || Ok(format!("ok: revoked {name}")))
        }
    }
}

fn create(client: &Client, wanted: &CreateArgs, args: &GlobalArgs) -> Result<(), Error> {
    let body = json!({"limits": {
        "burstSize": wanted.burst_size,
        "concurrentSlots": wanted.slots,
        "memory": wanted.memory,
        "packageSize": wanted.package_size,
        "flaresPerMinute": wanted.rate,
        "definitions": wanted.definitions,
        "definitionsSize": wanted.definitions_size,
        "storedSize": wanted.stored_size,
        "deploysPerMinute": wanted.deploy_rate,
        "requestsPerMinute": wanted.request_rate,
        "concurrentRequests": wanted.requests,
        "egress": wanted.egress,
    }});
    let query = [("overwrite", wanted.overwrite.then(|| "true".into()))];
    let answer = client.put_at(&path(&wanted.name), &query, &body)?;
    output::answer(args.output, &answer, || {
        let created: CreatedNamespace = answer.read()?;
        let limits = created.limits;
        Ok(output::pairs([
            ("namespace", Some(created.name)),
            ("auth", Some(created.auth)),
            ("burst size", Some(limits.burst_size.to_string())),
            ("slots", Some(limits.concurrent_slots.to_string())),
            ("memory", Some(format!("{} MiB per worker", limits.memory))),
            ("package size", Some(output::size(limits.package_size))),
            (
                "flares a minute",
                Some(limits.flares_per_minute.to_string()),
            ),
            ("definitions", Some(limits.definitions.to_string())),
            (
                "definitions size",
                Some(output::size(limits.definitions_size)),
            ),
            ("stored size", Some(output::size(limits.stored_size))),
            (
                "deploys a minute",
                Some(limits.deploys_per_minute.to_string()),
            ),
            (
                "requests a minute",
                Some(limits.requests_per_minute.to_string()),
            ),
            (
                "requests at once",
                Some(limits.concurrent_requests.to_string()),
            ),
            ("internet", Some(internet(limits.egress).into())),
        ]) + "\nNobody can read these credentials again: keep them.")
    })
}

fn list(client: &Client, page: &PageArgs, args: &GlobalArgs) -> Result<(), Error> {
    let answer = client.get_at(&NAMESPACES, &page.query())?;
    output::answer(args.output, &answer, || {
        let heads = [
            "NAMESPACE",
            "STATE",
            "BURST SIZE",
            "SLOTS",
            "MEMORY",
            "PACKAGE",
            "RATE",
            "DEFINITIONS",
            "STORED",
            "DEPLOYS",
            "REQUESTS",
            "INTERNET",
            "CREATED",
        ];
        let mut table = output::table(heads);
        for namespace in answer.read::<Vec<Namespace>>()? {
            let state = if namespace.revoked.is_some() {
                "revoked"
            } else {
                "open"
            };
            let Limits {
                burst_size,
                concurrent_slots,
                memory,
                package_size,
                flares_per_minute,
                definitions,
                definitions_size,
                stored_size,
                deploys_per_minute,
                requests_per_minute,
                concurrent_requests,
                egress,
            } = namespace.limits;
            table.add_row([
                namespace.name,
                state.into(),
                burst_size.to_string(),
                concurrent_slots.to_string(),
                format!("{memory} MiB"),
                output::size(package_size),
                format!("{flares_per_minute}/min"),
                format!("{definitions}, {}", output::size(definitions_size)),
                output::size(stored_size),
                format!("{deploys_per_minute}/min"),
                format!("{requests_per_minute}/min, {concurrent_requests} at once"),
                internet(egress).into(),
                output::time(namespace.created),
            ]);
        }
        Ok(output::render(table))
    })
}

/// Lists flares or groups of all namespaces.
fn any(
    client: &Client,
    (kind, head): (&str, &str),
    only: &[(&str, &Option<String>)],
    page: &PageArgs,
    args: &GlobalArgs,
) -> Result<(), Error> {
    let only = only.iter().map(|&(key, value)| (key, value.clone()));
    let query: Vec<_> = only.chain(page.query()).collect();
    let answer = client.get_at(&["admin", kind], &query)?;
    output::answer(args.output, &answer, || {
        let mut table = output::table([head, "NAMESPACE", "NAME", "STATE", "SIZE", "CREATED"]);
        for listed in answer.read::<Vec<Listed>>()? {
            table.add_row([
                listed.id().to_owned(),
                listed.namespace,
                listed.name,
                listed.state,
                listed.size.to_string(),
                output::time(listed.created),
            ]);
        }
        Ok(output::render(table))
    })
}

fn internet(egress: bool) -> &'static str {
    if egress { "yes" } else { "no" }
}

fn path(name: &str) -> [&str; 3] {
    [NAMESPACES[0], NAMESPACES[1], name]
}

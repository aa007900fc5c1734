//! `burst admin`.

use burst_client::{
    Answer, Client, CreateNamespaceQuery, FlareState, Limits, ListAllFlaresQuery,
    ListAllGroupsQuery, ListNamespacesQuery, NamespaceRequest, OwnLimits,
};
use serde::de::DeserializeOwned;

use crate::args::admin::{
    AdminAction, AnyFlareAction, AnyGroupAction, CreateArgs, NamespaceAction,
};
use crate::args::{GlobalArgs, PageArgs};
use crate::connection;
use crate::error::Error;
use crate::{ids, output};

/// Does what the administrator asks.
pub fn run(action: &AdminAction, args: &GlobalArgs) -> Result<(), Error> {
    let client = connection::administrator(args)?;
    match action {
        AdminAction::Namespace(action) => namespace(&client, action, args),
        AdminAction::Flare(AnyFlareAction::List {
            namespace,
            state,
            page,
        }) => {
            let answer = client.list_all_flares(&ListAllFlaresQuery {
                limit: page.limit,
                skip: page.skip,
                namespace: namespace.clone(),
                state: state.as_deref().map(FlareState::from),
            })?;
            any(&answer, "FLARE", args, |flare| Listed {
                id: flare.flare_id,
                namespace: flare.namespace,
                name: flare.name,
                state: flare.state.to_string(),
                size: flare.size,
                created: flare.created,
            })
        }
        AdminAction::Flare(AnyFlareAction::Cancel { id }) => {
            let id = ids::any_flare(&client, id)?;
            let answer = client.end_any_flare(&id)?;
            output::answer(args.output, &answer, || {
                Ok(format!("ok: cancelling flare {id}"))
            })
        }
        AdminAction::Group(AnyGroupAction::List { namespace, page }) => {
            let answer = client.list_all_groups(&ListAllGroupsQuery {
                limit: page.limit,
                skip: page.skip,
                namespace: namespace.clone(),
            })?;
            any(&answer, "GROUP", args, |group| Listed {
                id: group.group_id,
                namespace: group.namespace,
                name: group.name,
                state: group.state.to_string(),
                size: group.size,
                created: group.created,
            })
        }
        AdminAction::Group(AnyGroupAction::Close { id }) => {
            let id = ids::any_group(&client, id)?;
            let answer = client.end_any_group(&id)?;
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
            let answer = client.revoke_namespace(name)?;
            output::answer(args.output, &answer, || Ok(format!("ok: revoked {name}")))
        }
    }
}

fn create(client: &Client, wanted: &CreateArgs, args: &GlobalArgs) -> Result<(), Error> {
    let limits = OwnLimits {
        burst_size: wanted.burst_size,
        concurrent_slots: wanted.slots,
        memory: wanted.memory,
        package_size: wanted.package_size,
        flares_per_minute: wanted.rate,
        definitions: wanted.definitions,
        definitions_size: wanted.definitions_size,
        stored_size: wanted.stored_size,
        deploys_per_minute: wanted.deploy_rate,
        requests_per_minute: wanted.request_rate,
        concurrent_requests: wanted.requests,
        egress: wanted.egress,
    };
    let limits = Some(limits);
    let query = CreateNamespaceQuery {
        overwrite: wanted.overwrite.then_some(true),
    };
    let answer = client.create_namespace(&wanted.name, &query, &NamespaceRequest { limits })?;
    output::answer(args.output, &answer, || {
        let created = answer.read()?;
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
    let answer = client.list_namespaces(&ListNamespacesQuery {
        limit: page.limit,
        skip: page.skip,
    })?;
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
        for namespace in answer.read()? {
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

/// A flare or a group in a list of those of all namespaces.
struct Listed {
    id: String,
    namespace: String,
    name: String,
    state: String,
    size: u32,
    created: u64,
}

/// Lists flares or groups of all namespaces.
fn any<T: DeserializeOwned>(
    answer: &Answer<Vec<T>>,
    head: &str,
    args: &GlobalArgs,
    listed: impl Fn(T) -> Listed,
) -> Result<(), Error> {
    output::answer(args.output, answer, || {
        let mut table = output::table([head, "NAMESPACE", "NAME", "STATE", "SIZE", "CREATED"]);
        for listed in answer.read()?.into_iter().map(listed) {
            table.add_row([
                listed.id,
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

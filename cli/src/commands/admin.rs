//! `burst admin`.

use burst_client::{
    Answer, Client, CreateNamespaceQuery, CreatedNamespace, FlareState, Limits, ListAllFlaresQuery,
    ListAllGroupsQuery, ListNamespacesQuery, Namespace, NamespaceRequest, OwnLimits,
};
use serde::de::DeserializeOwned;

use crate::args::admin::{
    AdminAction, AnyFlareAction, AnyGroupAction, CreateArgs, LimitArgs, NamespaceAction,
};
use crate::args::{GlobalArgs, PageArgs};
use crate::connection;
use crate::error::Error;
use crate::table::{self, Shown, Table, Value};
use crate::{ids, output, times};

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
                Ok(format!("ok: cancelling flare {id}").into())
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
                Ok(format!("ok: closing group {id}").into())
            })
        }
    }
}

fn namespace(client: &Client, action: &NamespaceAction, args: &GlobalArgs) -> Result<(), Error> {
    match action {
        NamespaceAction::Create(wanted) => create(client, wanted, args),
        NamespaceAction::List(page) => list(client, page, args),
        NamespaceAction::Get { name } => {
            let answer = client.get_namespace(name)?;
            output::answer(args.output, &answer, || Ok(known(answer.read()?)))
        }
        NamespaceAction::Limit(wanted) => {
            let limits = Some(own_limits(&wanted.limits));
            let answer = client.limit_namespace(&wanted.name, &NamespaceRequest { limits })?;
            output::answer(args.output, &answer, || Ok(known(answer.read()?)))
        }
        NamespaceAction::RenewKey { name } => created(&client.replace_namespace_key(name)?, args),
        NamespaceAction::Revoke { name } => {
            let answer = client.revoke_namespace(name)?;
            output::answer(args.output, &answer, || {
                Ok(format!("ok: revoked {name}").into())
            })
        }
    }
}

fn create(client: &Client, wanted: &CreateArgs, args: &GlobalArgs) -> Result<(), Error> {
    let limits = Some(own_limits(&wanted.limits));
    let query = CreateNamespaceQuery {
        overwrite: wanted.overwrite.then_some(true),
    };
    let answer = client.create_namespace(&wanted.name, &query, &NamespaceRequest { limits })?;
    created(&answer, args)
}

fn known(found: Namespace) -> Shown {
    describe(found.name, None, found.revoked, found.created, found.limits)
}

/// A namespace with credentials that are seen only now.
fn created(answer: &Answer<CreatedNamespace>, args: &GlobalArgs) -> Result<(), Error> {
    output::answer(args.output, answer, || {
        let created = answer.read()?;
        let auth = Some(created.auth.into());
        let shown = describe(created.name, auth, None, created.created, created.limits);
        Ok(shown.and("\nNobody can read these credentials again: keep them."))
    })
}

fn own_limits(wanted: &LimitArgs) -> OwnLimits {
    OwnLimits {
        burst_size: wanted.burst_size,
        concurrent_slots: wanted.slots,
        memory: wanted.memory,
        package_size: wanted.package_size,
        flares_per_minute: wanted.rate,
        definitions: wanted.definitions,
        definitions_size: wanted.definitions_size,
        stored_size: wanted.stored_size,
        invocations_per_minute: wanted.invocation_rate,
        fires_per_minute: wanted.fire_rate,
        deploys_per_minute: wanted.deploy_rate,
        requests_per_minute: wanted.request_rate,
        concurrent_requests: wanted.requests,
        egress: wanted.egress,
    }
}

fn describe(
    name: String,
    auth: Option<Value>,
    revoked: Option<u64>,
    created: u64,
    limits: Limits,
) -> Shown {
    table::pairs([
        ("namespace", Some(name.into())),
        ("auth", auth),
        ("revoked", revoked.map(|at| times::exact(at).into())),
        ("created", Some(times::exact(created).into())),
        ("burst size", Some(limits.burst_size.into())),
        ("slots", Some(limits.concurrent_slots.into())),
        (
            "memory",
            Some(format!("{} MiB per worker", limits.memory).into()),
        ),
        (
            "package size",
            Some(output::size(limits.package_size).into()),
        ),
        ("flares a minute", Some(limits.flares_per_minute.into())),
        ("definitions", Some(limits.definitions.into())),
        (
            "definitions size",
            Some(output::size(limits.definitions_size).into()),
        ),
        ("stored size", Some(output::size(limits.stored_size).into())),
        (
            "invocations a minute",
            Some(limits.invocations_per_minute.into()),
        ),
        ("fires a minute", Some(limits.fires_per_minute.into())),
        ("deploys a minute", Some(limits.deploys_per_minute.into())),
        ("requests a minute", Some(limits.requests_per_minute.into())),
        ("requests at once", Some(limits.concurrent_requests.into())),
        (
            "internet",
            Some(if limits.egress { "yes" } else { "no" }.into()),
        ),
    ])
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
            "SIZE",
            "SLOTS",
            "MEMORY",
            "STORED",
            "CREATED",
        ];
        let mut table = Table::new(heads);
        for namespace in answer.read()? {
            let state = match namespace.revoked {
                Some(_) => "revoked",
                None => "open",
            };
            let limits = namespace.limits;
            table.row([
                namespace.name.into(),
                table::state(state),
                limits.burst_size.into(),
                limits.concurrent_slots.into(),
                format!("{} MiB", limits.memory).into(),
                output::size(limits.stored_size).into(),
                times::minute(namespace.created).into(),
            ]);
        }
        Ok(table.shown())
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
        let mut table = Table::new([head, "NAMESPACE", "NAME", "STATE", "SIZE", "CREATED"]);
        for listed in answer.read()?.into_iter().map(listed) {
            table.row([
                ids::short(&listed.id).into(),
                listed.namespace.into(),
                listed.name.into(),
                table::state(&listed.state),
                listed.size.into(),
                times::minute(listed.created).into(),
            ]);
        }
        Ok(table.shown())
    })
}

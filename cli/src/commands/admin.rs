//! `burst admin`.

use std::time::SystemTime;

use burst_client::{
    Answer, Client, CreateNamespaceQuery, CreatedNamespace, FlareState, Limits, ListAllFlaresQuery,
    ListAllGroupsQuery, ListNamespacesQuery, Namespace, NamespaceRequest, OwnLimits,
};

use crate::args::admin::{
    AdminAction, AnyFlareAction, AnyGroupAction, CreateArgs, LimitArgs, NamespaceAction,
};
use crate::args::{GlobalArgs, PageArgs};
use crate::connection;
use crate::error::Error;
use crate::table::{self, Facts, Shown, Value};
use crate::{ids, output, times};

/// Runs an administrator's command.
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
            output::list(args.output, &answer, heads("FLARE"), |flare| {
                let (id, state) = (&flare.flare_id, flare.state.as_str());
                row(
                    id,
                    flare.namespace,
                    flare.name,
                    state,
                    flare.size,
                    flare.created,
                )
            })?;
            Ok(())
        }
        AdminAction::Flare(AnyFlareAction::Cancel { id }) => {
            let id = ids::any_flare(&client, id)?;
            let answer = client.end_any_flare(&id)?;
            output::done(args.output, &answer, &format!("cancelling flare {id}"))
        }
        AdminAction::Group(AnyGroupAction::List { namespace, page }) => {
            let answer = client.list_all_groups(&ListAllGroupsQuery {
                limit: page.limit,
                skip: page.skip,
                namespace: namespace.clone(),
            })?;
            output::list(args.output, &answer, heads("GROUP"), |group| {
                let (id, state) = (&group.group_id, group.state.as_str());
                row(
                    id,
                    group.namespace,
                    group.name,
                    state,
                    group.size,
                    group.created,
                )
            })?;
            Ok(())
        }
        AdminAction::Group(AnyGroupAction::Close { id }) => {
            let id = ids::any_group(&client, id)?;
            let answer = client.end_any_group(&id)?;
            output::done(args.output, &answer, &format!("closing group {id}"))
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
            output::done(args.output, &answer, &format!("revoked {name}"))
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

/// Shows a created namespace with its credentials, which are never shown again.
fn created(answer: &Answer<CreatedNamespace>, args: &GlobalArgs) -> Result<(), Error> {
    output::answer(args.output, answer, || {
        let created = answer.read()?;
        let auth = Some(created.auth);
        let shown = describe(created.name, auth, None, created.created, created.limits);
        Ok(shown.and("\nNobody can read these credentials again: keep them."))
    })?;
    output::next(&["`burst property set --auth UUID:KEY`, by whoever gets them"]);
    Ok(())
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
    auth: Option<String>,
    revoked: Option<SystemTime>,
    created: SystemTime,
    limits: Limits,
) -> Shown {
    Facts::new()
        .with("namespace", name)
        .with_some("auth", auth)
        .with_some("revoked", revoked.map(times::exact))
        .with("created", times::exact(created))
        .with("burst size", limits.burst_size)
        .with("slots", limits.concurrent_slots)
        .with("memory", format!("{} MiB per worker", limits.memory))
        .with("package size", output::size(limits.package_size))
        .with("flares a minute", limits.flares_per_minute)
        .with("definitions", limits.definitions)
        .with("definitions size", output::size(limits.definitions_size))
        .with("stored size", output::size(limits.stored_size))
        .with("invocations a minute", limits.invocations_per_minute)
        .with("fires a minute", limits.fires_per_minute)
        .with("deploys a minute", limits.deploys_per_minute)
        .with("requests a minute", limits.requests_per_minute)
        .with("requests at once", limits.concurrent_requests)
        .with("internet", if limits.egress { "yes" } else { "no" })
        .shown()
}

fn list(client: &Client, page: &PageArgs, args: &GlobalArgs) -> Result<(), Error> {
    let answer = client.list_namespaces(&ListNamespacesQuery {
        limit: page.limit,
        skip: page.skip,
    })?;
    let heads = [
        "NAMESPACE",
        "STATE",
        "SIZE",
        "SLOTS",
        "MEMORY",
        "STORED",
        "CREATED",
    ];
    output::list(args.output, &answer, heads, |namespace| {
        let state = match namespace.revoked {
            Some(_) => "revoked",
            None => "open",
        };
        let limits = namespace.limits;
        [
            namespace.name.into(),
            table::state(state),
            limits.burst_size.into(),
            limits.concurrent_slots.into(),
            format!("{} MiB", limits.memory).into(),
            output::size(limits.stored_size).into(),
            times::minute(namespace.created).into(),
        ]
    })?;
    Ok(())
}

/// Returns the column heads of a list of all namespaces' flares or groups.
fn heads(kind: &str) -> [&str; 6] {
    [kind, "NAMESPACE", "NAME", "STATE", "SIZE", "CREATED"]
}

/// Returns a row of such a list, for a flare or a group.
fn row(
    id: &str,
    namespace: String,
    name: String,
    state: &str,
    size: u32,
    created: SystemTime,
) -> [Value; 6] {
    [
        ids::short(id).into(),
        namespace.into(),
        name.into(),
        table::state(state),
        size.into(),
        times::minute(created).into(),
    ]
}

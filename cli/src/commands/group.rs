//! `burst group`: packs that outlive the flares that run on them.

use burst_client::{Answer, Client, Group, GroupFlareRequest, GroupState, ListGroupsQuery};
use serde::Serialize;

use crate::args::group::{GroupAction, GroupFlareArgs, GroupsArgs, OpenArgs};
use crate::args::{Format, GlobalArgs, SharedOptions};
use crate::commands::definitions;
use crate::commands::flare::{self, On};
use crate::error::{Error, FlareEnd};
use crate::follow::{Kind, Watcher};
use crate::interrupt::Interrupts;
use crate::table::{self, Facts, Shown};
use crate::{failure, ids, inputs, output, times};

/// Runs a `burst group` command.
pub fn run(action: &GroupAction, client: &Client, global: &GlobalArgs) -> Result<(), Error> {
    let format = global.output;
    match action {
        GroupAction::Open(args) => open(client, args, format),
        GroupAction::Flare(args) => run_flare(client, args, global),
        GroupAction::Close(group) => close(client, &group.id, format),
        GroupAction::List(args) => list(client, args, format),
        GroupAction::Get(group) => {
            let answer = client.get_group(&ids::group(client, &group.id)?)?;
            output::answer(format, &answer, || Ok(describe(&answer.read()?)))
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenBody<'a> {
    definition: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_timeout: Option<u64>,
    #[serde(flatten)]
    options: &'a SharedOptions,
}

fn open(client: &Client, args: &OpenArgs, format: Format) -> Result<(), Error> {
    let body = inputs::json(&OpenBody {
        definition: &args.name,
        version: args.version.as_deref(),
        size: args.size,
        idle_timeout: args.idle_timeout.map(times::in_millis),
        options: &args.options,
    })?;
    let printed = |answer: &Answer<_>, id: &str| {
        output::done(format, answer, &format!("group {id}"))?;
        let id = ids::short(id);
        output::next(&[
            &format!("`burst group flare {id} --result`"),
            &format!("`burst group close {id}` at the end"),
        ]);
        Ok(())
    };
    let explain = |error| definitions::explain(error, &args.name, args.version.as_deref());
    if !args.blocking {
        let answer = client.open_group(&body);
        let answer = answer.map_err(|cause| explain(cause.into()))?;
        return printed(&answer, &answer.read()?.group_id);
    }
    let watcher = Watcher {
        client,
        kind: Kind::Group,
        interrupts: Interrupts::listen()?,
    };
    let started = watcher.start(move |client| client.open_group(&body));
    let (answer, stopped) = started.map_err(explain)?;
    let id = answer.read()?.group_id;
    // The platform bounds the wait: it closes a group that does not get its slots or packs in time.
    watcher.until(&id, stopped, Client::get_group, |answer| {
        let group = answer.read()?;
        match group.state {
            GroupState::Open => Ok(Some(())),
            GroupState::Closed => Err(ended(&group)),
            GroupState::Queued
            | GroupState::Opening
            | GroupState::Closing
            | GroupState::Unknown(_) => Ok(None),
        }
    })?;
    printed(&answer, &id)
}

fn ended(group: &Group) -> Error {
    let why = group.error.as_ref().map(failure::describe);
    let why = why.unwrap_or_else(|| "it was closed".into());
    Error::Flare {
        end: FlareEnd::Failed,
        sentence: format!("group {} did not open: {why}", group.group_id),
    }
}

fn run_flare(client: &Client, args: &GroupFlareArgs, global: &GlobalArgs) -> Result<(), Error> {
    let params = match &args.params_file {
        Some(path) => inputs::json(&inputs::each(path)?)?,
        None => inputs::json(&inputs::params(&args.params)?)?,
    };
    let id = ids::group(client, &args.id)?;
    let group = client.get_group(&id)?.read()?;
    let start = flare::Start {
        on: On::Group(id),
        name: &group.name,
        version: None,
        size: group.size.into(),
        blocking: args.blocking,
        result: args.result,
        logs: false,
    };
    let body = GroupFlareRequest {
        params: Some(params),
        timeout: args.timeout,
    };
    start.run(client, &body, global)
}

fn close(client: &Client, id: &str, format: Format) -> Result<(), Error> {
    let id = ids::group(client, id)?;
    let answer = client.close_group(&id)?;
    output::done(format, &answer, &format!("closing group {id}"))?;
    output::next(&[&format!("`burst group get {}`", ids::short(&id))]);
    Ok(())
}

fn list(client: &Client, args: &GroupsArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_groups(&ListGroupsQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
    })?;
    let heads = ["GROUP", "NAME", "VERSION", "STATE", "SIZE", "CREATED"];
    let seen = output::list(format, &answer, heads, |group| {
        [
            ids::short(&group.group_id).into(),
            group.name.into(),
            group.version.into(),
            table::state(group.state.as_str()),
            group.size.into(),
            times::minute(group.created).into(),
        ]
    })?;
    match seen {
        Some(0) => output::next(&["`burst group open NAME --size N`"]),
        Some(_) => output::next(&[
            "`burst group flare GROUP --result`",
            "`burst group close GROUP`",
        ]),
        None => {}
    }
    Ok(())
}

fn describe(group: &Group) -> Shown {
    let packs = group.packs.iter().map(|pack| {
        let invoker = &pack.invoker;
        let start = pack.start.as_ref().map_or("-", |start| start.as_str());
        format!("{} on {invoker} ({start})", pack.pack)
    });
    let packs: Vec<String> = packs.collect();
    Facts::new()
        .with("group", group.group_id.as_str())
        .with("definition", format!("{} {}", group.name, group.version))
        .with("state", table::state(group.state.as_str()))
        .with("workers", group.size)
        .with("idle time-out", times::setting(group.idle_timeout))
        .with("created", times::exact(group.created))
        .with_some("opened", group.opened.map(times::exact))
        .with_some("closed", group.closed.map(times::exact))
        .with_some("packs", (!packs.is_empty()).then(|| packs.join(", ")))
        .with_some("error", group.error.as_ref().map(failure::describe))
        .shown()
}

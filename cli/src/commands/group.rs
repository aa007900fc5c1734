//! `burst group`: packs that outlive the flares that run on them.

use burst_client::{Answer, Client, Group, GroupState, ListGroupsQuery};
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::args::group::{GroupAction, GroupFlareArgs, GroupsArgs, OpenArgs};
use crate::args::{Format, GlobalArgs, Options};
use crate::commands::flare::{self, Inputs, On, unsendable};
use crate::error::{Error, FlareEnd};
use crate::follow::{Kind, Watcher};
use crate::interrupt::Interrupts;
use crate::table::{self, Shown, Table};
use crate::{failure, ids, inputs, output, times};

/// Does what the command line says.
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
    options: &'a Options,
}

fn open(client: &Client, args: &OpenArgs, format: Format) -> Result<(), Error> {
    let body = to_raw_value(&OpenBody {
        definition: &args.name,
        version: args.version.as_deref(),
        size: args.size,
        idle_timeout: args.idle_timeout,
        options: &args.options,
    })
    .map_err(unsendable)?;
    let printed = |answer: &Answer<_>, id: &str| {
        output::answer(format, answer, || Ok(format!("ok: group {id}").into()))?;
        let id = ids::short(id);
        output::next(&format!(
            "`burst group flare {id} --result` and, at the end, `burst group close {id}`"
        ));
        Ok(())
    };
    if !args.blocking {
        let answer = client.open_group(&body)?;
        return printed(&answer, &answer.read()?.group_id);
    }
    let watcher = Watcher {
        client,
        kind: Kind::Group,
        interrupts: Interrupts::listen()?,
    };
    let (answer, stopped) = watcher.start(move |client| client.open_group(&body))?;
    let id = answer.read()?.group_id;
    // The platform ends the wait: a group that does not get its slots or packs in time is closed.
    watcher.until(&id, stopped, Client::get_group, |answer| {
        let group = answer.read()?;
        match group.state {
            GroupState::Open => Ok(Some(())),
            GroupState::Closed => Err(ended(&group)),
            GroupState::Queued | GroupState::Opening | GroupState::Unknown(_) => Ok(None),
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

#[derive(Serialize)]
struct FlareBody {
    params: Inputs,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
}

fn run_flare(client: &Client, args: &GroupFlareArgs, global: &GlobalArgs) -> Result<(), Error> {
    let params = match &args.params_file {
        Some(path) => Inputs::Each(inputs::each(path)?),
        None => Inputs::Shared(inputs::params(&args.params)?),
    };
    let id = ids::group(client, &args.id)?;
    let group = client.get_group(&id)?.read()?;
    let start = flare::Start {
        on: On::Group(id),
        name: &group.name,
        size: group.size.into(),
        blocking: args.blocking,
        result: args.result,
        logs: false,
    };
    let timeout = args.timeout;
    start.run(client, &FlareBody { params, timeout }, global)
}

fn close(client: &Client, id: &str, format: Format) -> Result<(), Error> {
    let id = ids::group(client, id)?;
    let answer = client.close_group(&id)?;
    output::answer(format, &answer, || {
        Ok(format!("ok: closing group {id}").into())
    })
}

fn list(client: &Client, args: &GroupsArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_groups(&ListGroupsQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
    })?;
    output::answer(format, &answer, || {
        let mut table = Table::new(["GROUP", "NAME", "VERSION", "STATE", "SIZE", "CREATED"]);
        for group in answer.read()? {
            table.row([
                ids::short(&group.group_id).into(),
                group.name.into(),
                group.version.into(),
                table::state(group.state.as_str()),
                group.size.into(),
                times::minute(group.created).into(),
            ]);
        }
        Ok(table.shown())
    })
}

fn describe(group: &Group) -> Shown {
    let packs = group.packs.iter().map(|pack| {
        let invoker = &pack.invoker;
        let start = pack.start.as_ref().map_or("-", |start| start.as_str());
        format!("{} on {invoker} ({start})", pack.pack)
    });
    let packs: Vec<String> = packs.collect();
    table::pairs([
        ("group", Some(group.group_id.as_str().into())),
        (
            "definition",
            Some(format!("{} {}", group.name, group.version).into()),
        ),
        ("state", Some(table::state(group.state.as_str()))),
        ("workers", Some(group.size.into())),
        (
            "idle time-out",
            Some(times::setting(group.idle_timeout).into()),
        ),
        ("created", Some(times::exact(group.created).into())),
        ("opened", group.opened.map(|at| times::exact(at).into())),
        ("closed", group.closed.map(|at| times::exact(at).into())),
        (
            "packs",
            (!packs.is_empty()).then(|| packs.join(", ").into()),
        ),
        (
            "error",
            group.error.as_ref().map(|it| failure::describe(it).into()),
        ),
    ])
}

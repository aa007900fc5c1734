//! `burst admin`.

use serde_json::json;

use crate::api::{CreatedNamespace, Limits, Namespace};
use crate::args::admin::{AdminAction, CreateArgs, NamespaceAction};
use crate::args::{GlobalArgs, PageArgs};
use crate::client::Client;
use crate::error::Error;
use crate::output;

const NAMESPACES: [&str; 2] = ["admin", "namespaces"];

/// Does what the administrator asks.
pub fn run(action: &AdminAction, args: &GlobalArgs) -> Result<(), Error> {
    let client = Client::administrator(args)?;
    let AdminAction::Namespace(action) = action;
    match action {
        NamespaceAction::Create(wanted) => create(&client, wanted, args),
        NamespaceAction::List(page) => list(&client, page, args),
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
        ]) + "\nNobody can read these credentials again: keep them.")
    })
}

fn list(client: &Client, page: &PageArgs, args: &GlobalArgs) -> Result<(), Error> {
    let query = [
        ("limit", page.limit.map(|limit| limit.to_string())),
        ("skip", page.skip.map(|skip| skip.to_string())),
    ];
    let answer = client.get_at(&NAMESPACES, &query)?;
    output::answer(args.output, &answer, || {
        let heads = [
            "NAMESPACE",
            "STATE",
            "BURST SIZE",
            "SLOTS",
            "MEMORY",
            "PACKAGE",
            "RATE",
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
            } = namespace.limits;
            table.add_row([
                namespace.name,
                state.into(),
                burst_size.to_string(),
                concurrent_slots.to_string(),
                format!("{memory} MiB"),
                output::size(package_size),
                format!("{flares_per_minute}/min"),
                output::time(namespace.created),
            ]);
        }
        Ok(output::render(table))
    })
}

fn path(name: &str) -> [&str; 3] {
    [NAMESPACES[0], NAMESPACES[1], name]
}

//! `burst list`, `get` and `delete`.

use crate::api::Definition;
use crate::args::{Format, PageArgs};
use crate::client::Client;
use crate::error::Error;
use crate::output;

/// Lists the definitions of the caller's namespace.
pub fn list(client: &Client, page: &PageArgs, format: Format) -> Result<(), Error> {
    let answer = client.get(&["bursts"], &page.query())?;
    output::answer(format, &answer, || {
        let mut table = output::table(["NAME", "VERSION", "KIND", "PACKAGE", "UPDATED"]);
        for definition in answer.read::<Vec<Definition>>()? {
            table.add_row([
                definition.name,
                definition.version,
                definition.exec.kind,
                output::or_dash(definition.exec.size.map(output::size)),
                output::or_dash(definition.updated.map(output::time)),
            ]);
        }
        Ok(output::render(table))
    })
}

/// Shows a definition.
pub fn get(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.get(&["bursts", name], &[])?;
    output::answer(format, &answer, || Ok(describe(answer.read()?)))
}

/// Deletes a definition.
pub fn delete(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.delete(&["bursts", name])?;
    output::answer(format, &answer, || Ok(format!("ok: deleted {name}")))
}

fn describe(definition: Definition) -> String {
    let Definition {
        name,
        version,
        exec,
        config,
        parameters,
        updated,
    } = definition;
    output::pairs([
        ("name", Some(name)),
        ("version", Some(version)),
        ("kind", Some(exec.kind)),
        ("package", exec.package),
        ("package size", exec.size.map(output::size)),
        (
            "granularity",
            config
                .granularity
                .map(|workers| format!("{workers} workers per pack")),
        ),
        ("packing", config.packing),
        ("backend", config.backend),
        ("chunk size", config.chunk_size.map(output::size)),
        (
            "timeout",
            config
                .timeout
                .map(|ms| output::duration(0, ms.saturating_mul(1000))),
        ),
        (
            "memory",
            config.memory.map(|mib| format!("{mib} MiB per worker")),
        ),
        ("retries", config.retries.map(|retries| retries.to_string())),
        (
            "parameters",
            (!parameters.is_empty()).then(|| output::object(&parameters)),
        ),
        ("updated", updated.map(output::time)),
    ])
}

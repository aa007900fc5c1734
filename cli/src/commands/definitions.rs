//! `burst list`, `get` and `delete`.

use burst_client::{Client, Definition, ListDefinitionsQuery};

use crate::args::{Format, PageArgs};
use crate::error::Error;
use crate::output;

/// Lists the definitions of the caller's namespace.
pub fn list(client: &Client, page: &PageArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_definitions(&ListDefinitionsQuery {
        limit: page.limit,
        skip: page.skip,
    })?;
    output::answer(format, &answer, || {
        let mut table = output::table(["NAME", "VERSION", "KIND", "PACKAGE", "UPDATED"]);
        for definition in answer.read()? {
            table.add_row([
                definition.name,
                definition.version,
                definition.exec.kind,
                output::size(definition.exec.size),
                output::time(definition.updated),
            ]);
        }
        Ok(output::render(table))
    })
}

/// Shows a definition.
pub fn get(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.get_definition(name)?;
    output::answer(format, &answer, || Ok(describe(answer.read()?)))
}

/// Deletes a definition.
pub fn delete(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.delete_definition(name)?;
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
        ..
    } = definition;
    output::pairs([
        ("name", Some(name)),
        ("version", Some(version)),
        ("kind", Some(exec.kind)),
        ("package", Some(exec.package)),
        ("package size", Some(output::size(exec.size))),
        (
            "granularity",
            config
                .granularity
                .map(|workers| format!("{workers} workers per pack")),
        ),
        ("packing", config.packing.map(|packing| packing.to_string())),
        ("backend", config.backend),
        (
            "chunk size",
            config.chunk_size.map(|size| output::size(size.into())),
        ),
        (
            "timeout",
            Some(output::duration(0, config.timeout.saturating_mul(1000))),
        ),
        ("memory", Some(format!("{} MiB per worker", config.memory))),
        ("retries", Some(config.retries.to_string())),
        (
            "parameters",
            (!parameters.is_empty()).then(|| output::object(&parameters)),
        ),
        ("updated", Some(output::time(updated))),
    ])
}

//! `burst list`, `get` and `delete`.

use burst_client::{Client, Definition, ListDefinitionsQuery};

use crate::args::{Format, PageArgs};
use crate::error::Error;
use crate::table::{self, Shown, Table, Value};
use crate::{output, times};

/// Lists the definitions of the caller's namespace.
pub fn list(client: &Client, page: &PageArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_definitions(&ListDefinitionsQuery {
        limit: page.limit,
        skip: page.skip,
    })?;
    let mut some = None;
    output::answer(format, &answer, || {
        let definitions = answer.read()?;
        some = Some(!definitions.is_empty());
        let mut table = Table::new(["NAME", "VERSION", "KIND", "PACKAGE", "UPDATED"]);
        for definition in definitions {
            table.row([
                definition.name.into(),
                definition.version.into(),
                definition.exec.kind.into(),
                output::size(definition.exec.size).into(),
                times::minute(definition.updated).into(),
            ]);
        }
        Ok(table.shown())
    })?;
    match some {
        Some(true) => output::next("`burst flare NAME`"),
        Some(false) => output::next("`burst new NAME` and `burst run DIR`"),
        None => {}
    }
    Ok(())
}

/// Shows a definition.
pub fn get(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.get_definition(name)?;
    output::answer(format, &answer, || Ok(describe(answer.read()?)))
}

/// Deletes a definition.
pub fn delete(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client.delete_definition(name)?;
    output::answer(format, &answer, || Ok(format!("ok: deleted {name}").into()))
}

fn describe(definition: Definition) -> Shown {
    let Definition {
        name,
        version,
        exec,
        config,
        parameters,
        updated,
        ..
    } = definition;
    table::pairs([
        ("name", Some(name.into())),
        ("version", Some(version.into())),
        ("kind", Some(exec.kind.into())),
        ("package", Some(exec.package.into())),
        ("package size", Some(output::size(exec.size).into())),
        (
            "granularity",
            config
                .granularity
                .map(|workers| format!("{workers} workers per pack").into()),
        ),
        (
            "packing",
            config.packing.map(|packing| packing.as_str().into()),
        ),
        ("backend", config.backend.map(Value::from)),
        (
            "chunk size",
            config
                .chunk_size
                .map(|size| output::size(size.into()).into()),
        ),
        ("timeout", Some(times::setting(config.timeout).into())),
        (
            "memory",
            Some(format!("{} MiB per worker", config.memory).into()),
        ),
        ("retries", Some(config.retries.into())),
        (
            "parameters",
            (!parameters.is_empty()).then(|| output::object(&parameters).into()),
        ),
        ("updated", Some(times::exact(updated).into())),
    ])
}

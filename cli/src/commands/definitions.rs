//! `burst list`, `get`, `history`, `rollback` and `delete`.

use burst_client::{Client, Definition, ListDefinitionsQuery, ListVersionsQuery, Rollback};

use crate::args::{Format, GetArgs, HistoryArgs, PageArgs, RollbackArgs};
use crate::error::Error;
use crate::table::{self, Shown, Table, Value};
use crate::{ids, output, times};

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
pub fn get(client: &Client, args: &GetArgs, format: Format) -> Result<(), Error> {
    let answer = match &args.version {
        None => client.get_definition(&args.name)?,
        Some(version) => client.get_version(&args.name, version)?,
    };
    output::answer(format, &answer, || Ok(describe(answer.read()?)))
}

/// Lists a definition's versions.
pub fn history(client: &Client, args: &HistoryArgs, format: Format) -> Result<(), Error> {
    let name = &args.name;
    let answer = client.list_versions(
        name,
        &ListVersionsQuery {
            limit: args.page.limit,
            skip: args.page.skip,
        },
    )?;
    let mut some = 0;
    output::answer(format, &answer, || {
        let mut table = Table::new(["VERSION", "PACKAGE", "SIZE", "DEPLOYED"]);
        for version in answer.read()? {
            some += 1;
            table.row([
                version.version.into(),
                ids::short(&version.exec.package).into(),
                output::size(version.exec.size).into(),
                times::minute(version.updated).into(),
            ]);
        }
        Ok(table.shown())
    })?;
    if some > 1 {
        output::next(&format!(
            "`burst flare {name} --version VERSION` or `burst rollback {name} --to VERSION`"
        ));
    }
    Ok(())
}

/// Deploys an older version again.
pub fn roll_back(client: &Client, args: &RollbackArgs, format: Format) -> Result<(), Error> {
    let name = &args.name;
    let version = args.to.clone();
    let answer = client.roll_back(name, &Rollback { version })?;
    output::answer(format, &answer, || {
        let definition = answer.read()?;
        let to = args.to.as_deref().unwrap_or("the version before");
        Ok(format!("ok: rolled {name} back to {to}, as {}", definition.version).into())
    })?;
    output::next(&format!("`burst flare {name} --result`"));
    Ok(())
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
        environment,
        secrets,
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
        (
            "environment",
            (!environment.is_empty()).then(|| output::object(&environment).into()),
        ),
        (
            "secrets",
            (!secrets.is_empty()).then(|| secrets.join(", ").into()),
        ),
        ("updated", Some(times::exact(updated).into())),
    ])
}

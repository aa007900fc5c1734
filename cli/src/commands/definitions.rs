//! `burst list`, `get`, `history`, `rollback` and `delete`.

use burst_client::{
    Client, Definition, Error as ApiError, ListDefinitionsQuery, ListVersionsQuery, Rollback,
};

use crate::args::{Format, GetArgs, HistoryArgs, PageArgs, RollbackArgs};
use crate::error::Error;
use crate::table::{Facts, Shown};
use crate::{ids, output, times};

/// Lists the definitions of the caller's namespace.
pub fn list(client: &Client, page: &PageArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_definitions(&ListDefinitionsQuery {
        limit: page.limit,
        skip: page.skip,
    })?;
    let heads = ["NAME", "VERSION", "KIND", "PACKAGE", "UPDATED"];
    let seen = output::list(format, &answer, heads, |definition| {
        [
            definition.name.into(),
            definition.version.into(),
            definition.exec.kind.into(),
            output::size(definition.exec.size).into(),
            times::minute(definition.updated).into(),
        ]
    })?;
    match seen {
        Some(0) => output::next(&["`burst new NAME` and `burst run DIR`"]),
        Some(_) => output::next(&["`burst flare NAME`", "`burst get NAME`"]),
        None => {}
    }
    Ok(())
}

/// Adds to the error for a missing definition or version which command lists the existing ones.
pub fn explain(error: Error, name: &str, version: Option<&str>) -> Error {
    match error {
        Error::Api(cause @ ApiError::Refused { status: 404, .. }) => {
            let more = match version {
                None => "; see `burst list`".into(),
                Some(_) => {
                    let name = output::word(name);
                    format!("; see `burst history {name}`")
                }
            };
            Error::With { cause, more }
        }
        other => other,
    }
}

/// Shows a definition.
pub fn get(client: &Client, args: &GetArgs, format: Format) -> Result<(), Error> {
    let answer = match &args.version {
        None => client.get_definition(&args.name),
        Some(version) => client.get_version(&args.name, version),
    };
    let answer =
        answer.map_err(|cause| explain(cause.into(), &args.name, args.version.as_deref()))?;
    output::answer(format, &answer, || Ok(describe(answer.read()?)))?;
    let name = output::word(&args.name);
    let version = args.version.as_deref().map_or_else(String::new, |version| {
        format!(" --version {}", output::word(version))
    });
    output::next(&[
        &format!("`burst flare {name}{version}`"),
        &format!("`burst history {name}`"),
    ]);
    Ok(())
}

/// Lists a definition's versions.
pub fn history(client: &Client, args: &HistoryArgs, format: Format) -> Result<(), Error> {
    let name = &args.name;
    let query = ListVersionsQuery {
        limit: args.page.limit,
        skip: args.page.skip,
    };
    let answer = client
        .list_versions(name, &query)
        .map_err(|cause| explain(cause.into(), name, None))?;
    let heads = ["VERSION", "PACKAGE", "SIZE", "DEPLOYED"];
    let seen = output::list(format, &answer, heads, |version| {
        [
            version.version.into(),
            ids::short(&version.exec.package).into(),
            output::size(version.exec.size).into(),
            times::minute(version.updated).into(),
        ]
    })?;
    if seen > Some(1) {
        let name = output::word(name);
        output::next(&[
            &format!("`burst flare {name} --version VERSION`"),
            &format!("`burst rollback {name} --to VERSION`"),
        ]);
    }
    Ok(())
}

/// Deploys an older version again.
pub fn roll_back(client: &Client, args: &RollbackArgs, format: Format) -> Result<(), Error> {
    let name = &args.name;
    let version = match &args.to {
        Some(to) => Some(to.clone()),
        None => version_before(client, name)?,
    };
    let request = Rollback { version };
    let answer = client
        .roll_back(name, &request)
        .map_err(|cause| lost(cause, args, &request))
        .map_err(|error| explain(error, name, args.to.as_deref()))?;
    output::answer(format, &answer, || {
        let definition = answer.read()?;
        let to = match (&args.to, &request.version) {
            (None, Some(before)) => format!("the version before ({before})"),
            (to, _) => to.as_deref().unwrap_or("the version before").into(),
        };
        Ok(format!("ok: rolled {name} back to {to}, as {}", definition.version).into())
    })?;
    output::next(&[&format!("`burst flare {} --result`", output::word(name))]);
    Ok(())
}

/// Returns the version that the platform would choose if none is named. It is looked up first, because only a rollback
/// to a named version can be repeated when the answer is lost: after a rollback, the previous version is the one just
/// left. If there is none, the platform reports that.
fn version_before(client: &Client, name: &str) -> Result<Option<String>, Error> {
    let query = ListVersionsQuery {
        limit: Some(1),
        skip: Some(1),
    };
    let listed = client
        .list_versions(name, &query)
        .map_err(|cause| explain(cause.into(), name, None))?
        .read()?;
    Ok(listed.into_iter().next().map(|before| before.version))
}

/// Adds how to repeat the rollback to an error that leaves open whether it was done.
fn lost(cause: ApiError, args: &RollbackArgs, request: &Rollback) -> Error {
    let unknown = match &cause {
        ApiError::Refused { status, .. } => *status >= 500,
        ApiError::Broken { .. } | ApiError::NoAnswer { .. } => true,
        _ => false,
    };
    match (&args.to, &request.version) {
        (None, Some(version)) if unknown => Error::With {
            cause,
            more: format!(
                "; it may have been done: repeat it as `burst rollback {} --to {version}`",
                output::word(&args.name)
            ),
        },
        _ => cause.into(),
    }
}

/// Deletes a definition.
pub fn delete(client: &Client, name: &str, format: Format) -> Result<(), Error> {
    let answer = client
        .delete_definition(name)
        .map_err(|cause| explain(cause.into(), name, None))?;
    output::done(format, &answer, &format!("deleted {name}"))?;
    output::next(&["`burst list`"]);
    Ok(())
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
    let granularity = config.granularity;
    Facts::new()
        .with("name", name)
        .with("version", version)
        .with("kind", exec.kind)
        .with("package", exec.package)
        .with("package size", output::size(exec.size))
        .with_some(
            "granularity",
            granularity.map(|it| format!("{it} workers per pack")),
        )
        .with_some("packing", config.packing.as_ref().map(|it| it.as_str()))
        .with_some("backend", config.backend)
        .with_some(
            "chunk size",
            config.chunk_size.map(|it| output::size(it.into())),
        )
        .with("timeout", times::setting(config.timeout))
        .with("memory", format!("{} MiB per worker", config.memory))
        .with("retries", config.retries)
        .with_some(
            "parameters",
            (!parameters.is_empty()).then(|| output::object(&parameters)),
        )
        .with_some(
            "environment",
            (!environment.is_empty()).then(|| output::object(&environment)),
        )
        .with_some("secrets", (!secrets.is_empty()).then(|| secrets.join(", ")))
        .with("updated", times::exact(updated))
        .shown()
}

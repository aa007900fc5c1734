//! `burst flares`, `result` and `cancel`.

use burst_client::{Client, FlareState, ListFlaresQuery};

use crate::args::{FlaresArgs, Format, IdArgs};
use crate::commands::result;
use crate::error::Error;
use crate::{ids, output, table, times};

/// Lists flares, newest first.
pub fn list(client: &Client, args: &FlaresArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_flares(&ListFlaresQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
        state: args.state.as_deref().map(FlareState::from),
    })?;
    let heads = [
        "FLARE", "NAME", "VERSION", "STATE", "SIZE", "CREATED", "DURATION",
    ];
    let seen = output::list(format, &answer, heads, |flare| {
        let lasted = flare
            .ended
            .map(|end| times::duration(times::between(flare.created, end)));
        [
            ids::short(&flare.flare_id).into(),
            flare.name.into(),
            flare.version.into(),
            table::state(flare.state.as_str()),
            flare.size.into(),
            times::minute(flare.created).into(),
            lasted.into(),
        ]
    })?;
    match seen {
        Some(0) => output::next(&["`burst flare NAME`, with a name of `burst list`"]),
        Some(_) => output::next(&["`burst status FLARE`", "`burst logs FLARE`"]),
        None => {}
    }
    Ok(())
}

/// Prints the outputs, and fails as the flare did.
pub fn result(client: &Client, id: &IdArgs) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    result::print(client, &id)?;
    output::next(&[&format!("`burst timeline {}`", ids::short(&id))]);
    Ok(())
}

/// Asks the platform to stop a flare.
pub fn cancel(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let answer = client.cancel_flare(&id)?;
    output::done(format, &answer, &format!("cancelling flare {id}"))?;
    output::next(&[&format!("`burst status {}`", ids::short(&id))]);
    Ok(())
}

//! `burst flares`, `result` and `cancel`.

use burst_client::{Client, FlareState, ListFlaresQuery};

use crate::args::{FlaresArgs, Format, IdArgs};
use crate::commands::result;
use crate::error::Error;
use crate::table::{self, Table};
use crate::{ids, output, times};

/// Lists flares, newest first.
pub fn list(client: &Client, args: &FlaresArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_flares(&ListFlaresQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
        state: args.state.as_deref().map(FlareState::from),
    })?;
    let mut some = None;
    output::answer(format, &answer, || {
        let flares = answer.read()?;
        some = Some(!flares.is_empty());
        let heads = [
            "FLARE", "NAME", "VERSION", "STATE", "SIZE", "CREATED", "DURATION",
        ];
        let mut table = Table::new(heads);
        for flare in flares {
            let lasted = flare.ended.map(|end| times::duration(flare.created, end));
            table.row([
                ids::short(&flare.flare_id).into(),
                flare.name.into(),
                flare.version.into(),
                table::state(flare.state.as_str()),
                flare.size.into(),
                times::minute(flare.created).into(),
                lasted.into(),
            ]);
        }
        Ok(table.shown())
    })?;
    match some {
        Some(true) => output::next("`burst status FLARE` or `burst logs FLARE`"),
        Some(false) => output::next("`burst flare NAME`, with a name of `burst list`"),
        None => {}
    }
    Ok(())
}

/// Prints the outputs, and fails as the flare did.
pub fn result(client: &Client, id: &IdArgs) -> Result<(), Error> {
    result::print(client, &ids::flare(client, id)?)
}

/// Asks the platform to stop a flare.
pub fn cancel(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let answer = client.cancel_flare(&id)?;
    output::answer(format, &answer, || {
        Ok(format!("ok: cancelling flare {id}").into())
    })?;
    output::next(&format!("`burst status {}`", ids::short(&id)));
    Ok(())
}

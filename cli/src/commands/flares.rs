//! `burst flares`, `result` and `cancel`.

use burst_client::{Client, FlareState, ListFlaresQuery};

use crate::args::{FlaresArgs, Format, IdArgs};
use crate::commands::result;
use crate::error::Error;
use crate::{ids, output};

/// Lists flares, newest first.
pub fn list(client: &Client, args: &FlaresArgs, format: Format) -> Result<(), Error> {
    let answer = client.list_flares(&ListFlaresQuery {
        limit: args.page.limit,
        skip: args.page.skip,
        name: args.name.clone(),
        state: args.state.as_deref().map(FlareState::from),
    })?;
    output::answer(format, &answer, || {
        let heads = [
            "FLARE", "NAME", "VERSION", "STATE", "SIZE", "CREATED", "DURATION",
        ];
        let mut table = output::table(heads);
        for flare in answer.read()? {
            table.add_row([
                flare.flare_id,
                flare.name,
                flare.version,
                flare.state.to_string(),
                flare.size.to_string(),
                output::time(flare.created),
                output::or_dash(flare.ended.map(|end| output::duration(flare.created, end))),
            ]);
        }
        Ok(output::render(table))
    })
}

/// Prints the outputs, and fails as the flare did.
pub fn result(client: &Client, id: &IdArgs) -> Result<(), Error> {
    result::print(client, &ids::flare(client, id)?)
}

/// Asks the platform to stop a flare.
pub fn cancel(client: &Client, id: &IdArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, id)?;
    let answer = client.cancel_flare(&id)?;
    output::answer(format, &answer, || Ok(format!("ok: cancelling flare {id}")))
}

//! `burst invokers`.

use crate::api::{Invoker, Quarantine};
use crate::args::Format;
use crate::client::Client;
use crate::error::Error;
use crate::output;

/// Lists the machines that run workers.
pub fn run(client: &Client, format: Format) -> Result<(), Error> {
    let answer = client.get_at(&["invokers"], &[])?;
    output::answer(format, &answer, || {
        let heads = [
            "INVOKER", "STATE", "SLOTS", "FREE", "CPU", "WARM", "DRIVER", "ARCH", "GLIBC",
        ];
        let mut table = output::table(heads);
        let mut reasons = String::new();
        for invoker in answer.read::<Vec<Invoker>>()? {
            if let Some(Quarantine { reason, until }) = &invoker.quarantine {
                reasons.push_str(&format!(
                    "\n{} is avoided, as packs fail to start on it, and tried again from {} on: {reason}",
                    invoker.id,
                    output::time(*until)
                ));
            }
            let runtime = invoker.runtime.as_ref();
            table.add_row([
                invoker.id.clone(),
                invoker.state.clone(),
                invoker.slots.to_string(),
                invoker.free_slots.to_string(),
                output::or_dash(invoker.cpu_load.map(|load| format!("{load:.2}"))),
                output::or_dash(invoker.warm_packs),
                output::or_dash(invoker.driver.as_ref()),
                output::or_dash(runtime.and_then(|runtime| runtime.arch.as_ref())),
                output::or_dash(runtime.and_then(|runtime| runtime.glibc.as_ref())),
            ]);
        }
        Ok(output::render(table) + &reasons)
    })
}

//! `burst invokers`.

use burst_client::{Client, Quarantine};

use crate::args::Format;
use crate::error::Error;
use crate::output;

/// Lists the machines that run workers.
pub fn run(client: &Client, format: Format) -> Result<(), Error> {
    let answer = client.list_invokers()?;
    output::answer(format, &answer, || {
        let heads = [
            "INVOKER", "STATE", "SLOTS", "FREE", "CPU", "WARM", "DRIVER", "ARCH", "GLIBC",
        ];
        let mut table = output::table(heads);
        let mut reasons = String::new();
        for invoker in answer.read()? {
            if let Some(Quarantine { reason, until }) = &invoker.quarantine {
                reasons.push_str(&format!(
                    "\n{} is avoided, as packs fail to start on it, and tried again from {} on: {reason}",
                    invoker.id,
                    output::time(*until)
                ));
            }
            table.add_row([
                invoker.id,
                invoker.state.to_string(),
                invoker.slots.to_string(),
                invoker.free_slots.to_string(),
                format!("{:.2}", invoker.cpu_load),
                invoker.warm_packs.to_string(),
                invoker.driver,
                invoker.runtime.arch,
                invoker.runtime.glibc,
            ]);
        }
        Ok(output::render(table) + &reasons)
    })
}

//! `burst invokers`.

use burst_client::{Client, Quarantine};

use crate::args::Format;
use crate::error::Error;
use crate::table::{self, Table};
use crate::{output, times};

/// Lists the machines that run workers.
pub fn run(client: &Client, format: Format) -> Result<(), Error> {
    let answer = client.list_invokers()?;
    output::answer(format, &answer, || {
        let heads = [
            "INVOKER", "STATE", "SLOTS", "FREE", "CPU", "WARM", "DRIVER", "ARCH", "GLIBC",
        ];
        let mut table = Table::new(heads);
        let mut reasons = String::new();
        for invoker in answer.read()? {
            if let Some(Quarantine { reason, until }) = &invoker.quarantine {
                reasons.push_str(&format!(
                    "\n{} is avoided, as packs fail to start on it, and tried again from {} on: {reason}",
                    invoker.id,
                    times::exact(*until)
                ));
            }
            table.row([
                invoker.id.into(),
                table::state(invoker.state.as_str()),
                invoker.slots.into(),
                invoker.free_slots.into(),
                format!("{:.2}", invoker.cpu_load).into(),
                invoker.warm_packs.into(),
                invoker.driver.into(),
                invoker.runtime.arch.into(),
                invoker.runtime.glibc.into(),
            ]);
        }
        Ok(table.shown().and(&reasons))
    })
}

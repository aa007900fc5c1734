//! `burst invokers`.

use std::time::{Duration, Instant};

use burst_client::{Client, Invoker, Quarantine};

use crate::args::{Format, InvokersAction};
use crate::error::Error;
use crate::follow;
use crate::table::{self, Table};
use crate::{output, times};

/// How often it is looked whether a machine is empty.
const PAUSE: Duration = Duration::from_secs(1);

/// Lists the machines that run workers.
pub fn list(client: &Client, format: Format) -> Result<(), Error> {
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

/// Takes a machine out of service, or puts it back.
pub fn change(action: &InvokersAction, client: &Client, format: Format) -> Result<(), Error> {
    let answer = match action {
        InvokersAction::Resume { id } => client.resume_invoker(id)?,
        InvokersAction::Drain { id, wait: None } => client.drain_invoker(id)?,
        InvokersAction::Drain {
            id,
            wait: Some(wait),
        } => {
            let asked = Instant::now();
            let wait = Duration::from_millis(*wait);
            follow::watch(PAUSE, || {
                // Asked for again, it says how far it is.
                let answer = client.drain_invoker(id)?;
                let left = answer.read()?.used_slots;
                if left > 0 && asked.elapsed() >= wait {
                    return Err(Error::NotDrained {
                        invoker: id.clone(),
                        slots: left,
                        waited: wait,
                    });
                }
                Ok((left == 0).then_some(answer))
            })?
        }
    };
    output::answer(format, &answer, || Ok(said(&answer.read()?).into()))
}

fn said(invoker: &Invoker) -> String {
    let id = &invoker.id;
    match (invoker.drained, invoker.used_slots) {
        (false, _) => format!("ok: {id} gets flares again"),
        (true, 0) => format!("ok: {id} gets no more flares, and nothing runs on it"),
        (true, used) => format!(
            "ok: {id} gets no more flares; those it has go on in {used} of its slots: `burst invokers` shows when \
             they are gone"
        ),
    }
}

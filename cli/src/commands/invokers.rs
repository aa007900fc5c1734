//! `burst invokers`.

use std::thread;
use std::time::{Duration, Instant};

use burst_client::{Client, Drain, Quarantine};

use crate::args::{Format, InvokersAction};
use crate::error::Error;
use crate::table::{self, Table};
use crate::{output, times};

/// The time between two checks whether a machine is empty.
const PAUSE: Duration = Duration::from_secs(1);

/// Lists the machines that run workers.
pub fn list(client: &Client, format: Format) -> Result<(), Error> {
    let answer = client.list_invokers()?;
    let mut some = None;
    output::answer(format, &answer, || {
        let heads = [
            "INVOKER", "STATE", "SLOTS", "FREE", "CPU", "WARM", "DRIVER", "ARCH", "GLIBC",
        ];
        let mut table = Table::new(heads);
        let mut reasons = String::new();
        let invokers = answer.read()?;
        some = Some(!invokers.is_empty());
        for invoker in invokers {
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
    })?;
    match some {
        Some(true) => output::next(&[
            "`burst flares --state running`",
            "`burst invokers drain INVOKER`",
        ]),
        Some(false) => output::next(&["`burst invoker --help`"]),
        None => {}
    }
    Ok(())
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
            let answer = client.drain_invoker(id)?;
            if answer.read()?.used_slots > 0 {
                await_empty(client, id, *wait)?;
                // Changes nothing, but returns the machine's current state.
                client.drain_invoker(id)?
            } else {
                answer
            }
        }
    };
    let mut drained = false;
    output::answer(format, &answer, || {
        let invoker = answer.read()?;
        drained = invoker.drained && invoker.used_slots == 0;
        Ok(describe(&invoker).into())
    })?;
    if let (InvokersAction::Drain { id, .. }, true) = (action, drained) {
        let id = output::word(id);
        output::next(&[&format!("`burst invokers resume {id}` when it is back")]);
    }
    Ok(())
}

/// Waits until nothing runs on the machine. Fails if somebody resumes the machine, or when the time is up.
fn await_empty(client: &Client, id: &str, wait: Duration) -> Result<(), Error> {
    let asked = Instant::now();
    loop {
        thread::sleep(PAUSE.min(wait.saturating_sub(asked.elapsed())));
        let invoker = client.get_drain(id)?.read()?;
        if !invoker.drained {
            return Err(Error::Resumed(id.to_owned()));
        }
        if invoker.used_slots == 0 {
            return Ok(());
        }
        if asked.elapsed() >= wait {
            return Err(Error::NotDrained {
                invoker: id.to_owned(),
                slots: invoker.used_slots,
                waited: wait,
            });
        }
    }
}

fn describe(invoker: &Drain) -> String {
    let id = &invoker.id;
    match (invoker.drained, invoker.used_slots) {
        (false, _) => format!("ok: {id} takes flares again"),
        (true, 0) => format!("ok: {id} takes no more flares, and nothing runs on it"),
        (true, used) => format!(
            "ok: {id} takes no more flares; those it has go on in {used} of its slots: `burst invokers` shows when \
             they are gone"
        ),
    }
}

//! An invoker's tables in the kernel, one in each of two families.

use crate::Error;
use crate::kernel::{BRIDGE, INET};
use crate::members::{Change, Entry};
use crate::netlink::Netlink;
use crate::network_policy::NetworkPolicy;
use crate::ruleset;
use crate::script::Script;
use crate::set::{SETS, Set};

#[derive(Debug)]
pub(crate) struct Table {
    kernel: Netlink,
    name: String,
}

impl Table {
    /// Replaces the tables with this name. No pack is admitted at first.
    pub(crate) fn create(kernel: Netlink, policy: &NetworkPolicy) -> Result<Self, Error> {
        let table = Self {
            kernel,
            name: policy.name.clone(),
        };
        table.run("the rules that keep packs apart", |script| {
            ruleset::replace(script, policy);
        })?;
        Ok(table)
    }

    pub(crate) fn apply(&self, change: &Change) -> Result<(), Error> {
        if change.added.is_empty() && change.removed.is_empty() {
            return Ok(());
        }
        self.run("to change who may reach whom", |script| {
            for set in SETS {
                script.delete_elements(&set, &keys(&set, &change.removed));
            }
            for set in SETS {
                script.add_elements(&set, &keys(&set, &change.added));
            }
        })
    }

    /// Removes the tables: everybody may reach everything again.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        self.run("to remove the rules that kept packs apart", |script| {
            script.delete_table(BRIDGE);
            script.delete_table(INET);
        })
    }

    fn run(&self, what: &'static str, write: impl FnOnce(&mut Script<'_>)) -> Result<(), Error> {
        let mut script = Script::new(&self.name);
        write(&mut script);
        (self.kernel.run(script.finish())).map_err(|reason| Error::Kernel { what, reason })
    }
}

fn keys(set: &Set, entries: &[Entry]) -> Vec<Vec<u8>> {
    entries.iter().filter_map(|entry| set.key(entry)).collect()
}

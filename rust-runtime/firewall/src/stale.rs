//! Removes rules that have outlived their network, as when an invoker was killed and its network
//! removed. Those between packs match addresses, and would apply to the next network that has them.

use std::io::{self, ErrorKind};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

use crate::Error;
use crate::kernel::{BRIDGE, DEL_TABLE, GET_TABLE, INET};
use crate::netlink::{Attributes, Batch, Netlink, attributes};

const NAME: u16 = 1;
const HANDLE: u16 = 4;

/// Removes stale tables of this machine's invokers; never a table whose network exists, or that is
/// not an invoker's.
pub(crate) fn remove(kernel: &Netlink) -> Result<(), Error> {
    remove_from(kernel).map_err(|reason| Error::Kernel {
        what: "to remove the rules of networks that are gone",
        reason,
    })
}

fn remove_from(kernel: &Netlink) -> io::Result<()> {
    for table in tables(kernel)? {
        let ours = matches!(table.family, BRIDGE | INET);
        let Some(bridge) = bridge_of(&table.name).filter(|_| ours) else {
            continue;
        };
        if !exists(&bridge)? {
            delete(kernel, &table)?;
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) family: u8,
    pub(crate) name: String,
    handle: Vec<u8>,
}

/// All tables of the machine.
pub(crate) fn tables(kernel: &Netlink) -> io::Result<Vec<Table>> {
    let dumped = kernel.dump(GET_TABLE)?.into_iter();
    let read = dumped.filter_map(|table| {
        let value = |kind| attributes(&table.attributes).find(|(other, _)| *other == kind);
        let (_, name) = value(NAME)?;
        let name = std::str::from_utf8(name.strip_suffix(&[0])?).ok()?;
        Some(Table {
            family: table.family,
            name: name.to_owned(),
            handle: value(HANDLE)?.1.to_vec(),
        })
    });
    Ok(read.collect())
}

/// The interface of an invoker's network, derived from the name of a table, if that is an
/// invoker's: an invoker names both after itself (`PackNetwork.scala`).
fn bridge_of(table: &str) -> Option<String> {
    let owner = table.strip_prefix("burst-")?;
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let ours = owner.len() == 12 && owner.bytes().all(hex);
    ours.then(|| format!("burst{}", &owner[..8]))
}

fn exists(card: &str) -> io::Result<bool> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    match netdevice::name_to_index(any, card) {
        Ok(_) => Ok(true),
        Err(Errno::NODEV) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Deletes exactly this table, and not one that its invoker, back again, has made since then.
fn delete(kernel: &Netlink, table: &Table) -> io::Result<()> {
    let which = Attributes::default()
        .text(NAME, &table.name)
        .bytes(HANDLE, &table.handle);
    let mut batch = Batch::new();
    batch.push(DEL_TABLE, table.family, &which);
    match kernel.run(batch) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::NEW_TABLE;
    use crate::namespace;

    const IP: u8 = 2;

    fn make(kernel: &Netlink, (family, name): (u8, &str)) {
        let mut batch = Batch::new();
        let named = Attributes::default().text(NAME, name);
        batch.push(NEW_TABLE, family, &named);
        kernel.run(batch).unwrap();
    }

    #[test]
    fn only_tables_of_invokers_whose_bridge_is_gone_are_removed() {
        if !namespace::enter(
            "stale::tests::only_tables_of_invokers_whose_bridge_is_gone_are_removed",
        ) {
            return;
        }
        let kernel = Netlink::open().unwrap();
        namespace::add_card("burstfedcba98");
        let gone = [(BRIDGE, "burst-0123456789ab"), (INET, "burst-0123456789ab")];
        let kept = [
            (BRIDGE, "burst-fedcba987654"),
            (INET, "burst-fedcba987654"),
            (IP, "burst-0123456789ab"),
            (BRIDGE, "burst-0123456789AB"),
            (BRIDGE, "burst-0123456789a"),
            (BRIDGE, "burst-0123456789abc"),
            (INET, "burst-production"),
            (INET, "filter"),
        ];
        (gone.iter().chain(&kept)).for_each(|table| make(&kernel, *table));

        remove(&kernel).unwrap();

        let mut expected = kept.map(|(family, name)| (family, name.to_owned()));
        expected.sort();
        assert_eq!(namespace::tables(), expected);
    }

    #[test]
    fn a_recreated_table_is_not_mistaken_for_the_old_one() {
        if !namespace::enter("stale::tests::a_recreated_table_is_not_mistaken_for_the_old_one") {
            return;
        }
        let kernel = Netlink::open().unwrap();
        let name = "burst-0123456789ab";
        make(&kernel, (INET, name));
        let old = tables(&kernel).unwrap().remove(0);
        delete(&kernel, &old).unwrap();
        make(&kernel, (INET, name));

        delete(&kernel, &old).unwrap();

        assert_eq!(namespace::tables(), [(INET, name.to_owned())]);
    }
}

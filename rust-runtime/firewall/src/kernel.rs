//! The kernel's numbers for families of tables, and for commands on tables.

use crate::netlink::{CREATE, Command};

pub(crate) const INET: u8 = 1;
pub(crate) const IPV4: u8 = 2;
pub(crate) const IPV6: u8 = 10;
pub(crate) const BRIDGE: u8 = 7;

pub(crate) const NEW_TABLE: Command = Command {
    kind: 0,
    flags: CREATE,
};
pub(crate) const GET_TABLE: u16 = 1;
pub(crate) const DEL_TABLE: Command = Command { kind: 2, flags: 0 };

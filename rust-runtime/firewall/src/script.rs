//! Changes to the tables of one name, as in a file for `nft -f`: all of them or none.

use crate::expression::Rule;
use crate::kernel::{DEL_TABLE, NEW_TABLE};
use crate::netlink::{APPEND, Attributes, Batch, CREATE, Command};
use crate::set::Set;

const NEW_CHAIN: Command = Command {
    kind: 3,
    flags: CREATE,
};
const NEW_RULE: Command = Command {
    kind: 6,
    flags: CREATE | APPEND,
};
const NEW_SET: Command = Command {
    kind: 9,
    flags: CREATE,
};
const NEW_ELEMENT: Command = Command {
    kind: 12,
    flags: CREATE,
};
const DEL_ELEMENT: Command = Command { kind: 14, flags: 0 };

/// The most elements of one message: the length of their list has 16 bits.
const ELEMENTS: usize = 500;

/// The point at which the kernel runs a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hook {
    Prerouting = 0,
    Input = 1,
    Forward = 2,
}

/// A chain of one of the tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) family: u8,
    pub(crate) name: &'static str,
    pub(crate) hook: Hook,
    pub(crate) priority: i32,
}

#[derive(Debug)]
pub(crate) struct Script<'a> {
    table: &'a str,
    batch: Batch,
}

impl<'a> Script<'a> {
    pub(crate) fn new(table: &'a str) -> Self {
        Self {
            table,
            batch: Batch::new(),
        }
    }

    pub(crate) fn finish(self) -> Batch {
        self.batch
    }

    pub(crate) fn replace_table(&mut self, family: u8) {
        // Created first, so that there is a table to delete.
        self.push(NEW_TABLE, family, |table| table);
        self.delete_table(family);
        self.push(NEW_TABLE, family, |table| table);
    }

    pub(crate) fn delete_table(&mut self, family: u8) {
        self.push(DEL_TABLE, family, |table| table);
    }

    pub(crate) fn add_set(&mut self, set: &Set) {
        self.push(NEW_SET, set.family, |table| {
            table
                .text(2, set.name)
                .number(3, 0)
                .number(4, 0)
                .number(5, set.key_length)
                .number(10, set.id)
        });
    }

    pub(crate) fn add_elements(&mut self, set: &Set, keys: &[Vec<u8>]) {
        self.elements(NEW_ELEMENT, set, keys);
    }

    pub(crate) fn delete_elements(&mut self, set: &Set, keys: &[Vec<u8>]) {
        self.elements(DEL_ELEMENT, set, keys);
    }

    pub(crate) fn add_chain(&mut self, chain: &Chain) {
        let hook = Attributes::default()
            .number(1, chain.hook as u32)
            .number(2, chain.priority.cast_unsigned());
        self.push(NEW_CHAIN, chain.family, |table| {
            table.text(3, chain.name).nested(4, &hook).text(7, "filter")
        });
    }

    pub(crate) fn add_rule(&mut self, chain: &Chain, rule: &Rule) {
        self.push(NEW_RULE, chain.family, |table| {
            table.text(2, chain.name).nested(4, rule.expressions())
        });
    }

    fn elements(&mut self, command: Command, set: &Set, keys: &[Vec<u8>]) {
        for keys in keys.chunks(ELEMENTS) {
            let list = keys.iter().fold(Attributes::default(), |list, key| {
                list.nested(1, &Attributes::default().data(1, key))
            });
            self.push(command, set.family, |table| {
                table.text(2, set.name).nested(3, &list)
            });
        }
    }

    fn push(&mut self, command: Command, family: u8, more: impl FnOnce(Attributes) -> Attributes) {
        let attributes = more(Attributes::default().text(1, self.table));
        self.batch.push(command, family, &attributes);
    }
}

//! The operations a message can belong to.

use std::fmt;

use crate::rank::Rank;

/// A communication operation, as it is named in errors and numbered on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Point to point, sending side.
    Send,
    /// Point to point, receiving side.
    Recv,
    /// All wait for all.
    Barrier,
    /// One value to all.
    Broadcast,
    /// All values combined at one.
    Reduce,
    /// All values combined, the result to all.
    AllReduce,
    /// All values to one.
    Gather,
    /// All values to all.
    AllGather,
    /// One value from one to each.
    Scatter,
    /// One value from each to each.
    AllToAll,
    /// All values combined, a part of the result to each.
    ReduceScatter,
    /// To each the combination of the values up to and including its own.
    Scan,
    /// To each the combination of the values before its own.
    ExclusiveScan,
    /// A group divided into several groups.
    Split,
}

impl Operation {
    /// Every operation with its name; its index is its number on the wire.
    const ALL: [(Self, &'static str); 14] = [
        (Self::Send, "send"),
        (Self::Recv, "recv"),
        (Self::Barrier, "barrier"),
        (Self::Broadcast, "broadcast"),
        (Self::Reduce, "reduce"),
        (Self::AllReduce, "all_reduce"),
        (Self::Gather, "gather"),
        (Self::AllGather, "all_gather"),
        (Self::Scatter, "scatter"),
        (Self::AllToAll, "all_to_all"),
        (Self::ReduceScatter, "reduce_scatter"),
        (Self::Scan, "scan"),
        (Self::ExclusiveScan, "exclusive_scan"),
        (Self::Split, "split"),
    ];

    /// Returns every operation, in the order of the numbers on the wire.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(operation, _)| operation)
    }

    /// The name that users see, the same as the method's.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether all workers must name the same root.
    pub(crate) fn has_root(self) -> bool {
        matches!(
            self,
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter
        )
    }

    /// The operation as it was called, with its root if it has one.
    pub(crate) fn with_root(self, root: Rank) -> String {
        match self.has_root() {
            true => format!("{self} with root {}", root.0),
            false => self.to_string(),
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        let (operation, _) = Self::ALL.get(usize::from(code))?;
        Some(*operation)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_operations_match_one_to_one() {
        for (index, (operation, _)) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(operation.code()), index);
            assert_eq!(Operation::from_code(operation.code()), Some(operation));
        }
        assert_eq!(Operation::from_code(Operation::ALL.len() as u8), None);
    }
}

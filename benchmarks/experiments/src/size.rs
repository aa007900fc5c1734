//! How large everything is.

use clap::ValueEnum;

/// What `SIZE` may be.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum Name {
    /// As small as can be, to see that everything works; its figures mean nothing.
    Tiny,
    /// All experiments within half an hour on two cores.
    Small,
    /// As large as the paper's where one machine with 24 GiB allows it.
    Large,
}

/// What one size means.
pub struct Size {
    /// Workers of the experiments that only start them.
    pub workers: u32,
    /// Counted runs of each setting that takes seconds.
    pub runs: usize,
    /// Bytes of the object that is loaded by each pack.
    pub object: usize,
    /// Workers that load it; at one worker a pack each holds a copy of its own.
    pub loaders: u32,
    /// How many times the data set of the grid search has every text.
    pub texts: u32,
    /// The graph has two to the power of this many nodes, and 16 times as many edges.
    pub graph: u32,
    /// Bytes that are sorted.
    pub sorted: u64,
    /// Rows of a table.
    pub rows: u64,
    /// Workers that the peers are started with.
    pub peer_workers: &'static [u32],
    /// Bytes of text whose words are counted.
    pub text: usize,
}

impl Name {
    /// The size of this name.
    pub fn size(self) -> Size {
        match self {
            Self::Tiny => Size {
                workers: 4,
                runs: 1,
                object: 1 << 20,
                loaders: 4,
                texts: 1,
                graph: 10,
                sorted: 1_000_000,
                rows: 50_000,
                peer_workers: &[8],
                text: 1_000_000,
            },
            Self::Small => Size {
                workers: 48,
                runs: 3,
                object: 256 << 20,
                loaders: 16,
                texts: 20,
                graph: 17,
                sorted: 256_000_000,
                rows: 4_500_000,
                peer_workers: &[8, 48],
                text: 100_000_000,
            },
            Self::Large => Size {
                workers: 48,
                runs: 5,
                object: 1 << 30,
                loaders: 12,
                texts: 100,
                graph: 20,
                sorted: 2_000_000_000,
                rows: 4_500_000,
                peer_workers: &[8, 48],
                text: 1_000_000_000,
            },
        }
    }
}

//! The sizes of the experiments.

use clap::ValueEnum;

/// The name of a size, as in `make experiments SIZE=small`.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum Name {
    /// As small as possible, to check that everything works. Its figures are meaningless.
    Tiny,
    /// All experiments within half an hour on two cores.
    Small,
    /// As large as in the paper, as far as a machine with 24 GiB allows.
    Large,
}

/// The parameters of a size.
pub struct Size {
    /// Number of workers in the experiments that only start workers.
    pub workers: u32,
    /// Number of counted runs of each setting that takes seconds.
    pub runs: usize,
    /// Bytes of the object that each pack loads.
    pub object: usize,
    /// Number of workers that load it. With one worker per pack, each holds its own copy.
    pub loaders: u32,
    /// How often the data set of the grid search repeats each text.
    pub texts: u32,
    /// The number of nodes of the graph, as a power of two. It has 16 times as many edges.
    pub graph: u32,
    /// Bytes to sort.
    pub sorted: u64,
    /// Rows of a table.
    pub rows: u64,
    /// Numbers of workers to start the peers with.
    pub peer_workers: &'static [u32],
    /// Bytes of text in which to count words.
    pub text: usize,
}

impl Name {
    /// Returns the parameters of the size.
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

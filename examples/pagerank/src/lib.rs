//! PageRank: rates how important each node of a graph is, by the links that lead to it.
//!
//! A node's rank is the share of time that a surfer spends there who follows random links and sometimes jumps to a
//! random node: `rank(v) = (1 - d) / N + d * (sum of rank(u) / degree(u) over all links u -> v + lost / N)`, where
//! `lost` is the total rank of the nodes without links, from which the surfer always jumps to a random node. The
//! formula is applied repeatedly until the ranks no longer change.
//!
//! # Try it
//! ```console
//! $ graph debian packages.txt --names names.txt     # which Debian package needs which
//! $ burst deploy pagerank examples/pagerank
//! $ burst flare pagerank --size 8 --param graph $PWD/packages.txt --param names $PWD/names.txt --result
//! $ burst timeline --last                           # time to compute and time to communicate, by worker
//! ```
//! (`graph` is built beside the example: `cargo run --release -p pagerank --bin graph -- debian packages.txt`. It can
//! also generate power-law graphs of any size: `graph rmat big.txt --scale 22`. At scale 25, which is 34 million nodes
//! and 537 million links, ten iterations with four workers on two processors took 65 s, of which 24 s went into reading
//! the text, and 12 GB of memory.)
//!
//! # How it works
//! The graph is a text file with lines `from to`. Each worker reads its share of the lines ([`edges`]) and groups its
//! links by source ([`links`]). It does not matter which worker has which part of the graph, because the contributions
//! to a node are summed over all workers anyway. In each iteration every worker adds up the rank that its links carry
//! to each node, and [`all_reduce_elements`](burst::Communicator::all_reduce_elements) adds the vectors of all workers:
//! within a pack the workers do this together, and each pack sends a single vector to other packs. The workers of a
//! pack share the result without copies. Then each worker compares the old and new ranks of its share of the *nodes*,
//! and an all-reduce of two numbers gives every worker the total change ([`rank`]).
//!
//! The same function also runs on threads of one process, in a test or elsewhere:
//!
//! ```
//! use pagerank::rank::{Input, work};
//!
//! # let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
//! let graph = directory.path().join("graph");
//! std::fs::write(&graph, "0 2\n1 2\n2 0\n").map_err(|e| e.to_string())?;
//!
//! let input = Input::of(&graph);
//! let ranked = burst::testing::run(work, vec![input; 4], 2).map_err(|e| e.to_string())?;
//! assert_eq!(ranked[0].top[0].node, 2);
//! # Ok::<(), String>(())
//! ```

pub mod edges;
pub mod generate;
pub mod links;
pub mod rank;

//! PageRank: how important each node of a graph is, by the links that lead to it.
//!
//! A node's rank is what a surfer who follows random links, and now and then jumps anywhere, spends there of its time:
//! `rank(v) = (1 - d) / N + d * (sum of rank(u) / degree(u) over all links u -> v + lost / N)`, where `lost` is the
//! rank of the nodes without links, from which the surfer jumps anywhere. It is found by repeating that until the
//! ranks stay as they are.
//!
//! # Try it
//! ```console
//! $ graph debian packages.txt --names names.txt     # which Debian package needs which
//! $ burst deploy pagerank examples/pagerank
//! $ burst flare pagerank --size 8 --param graph $PWD/packages.txt --param names $PWD/names.txt --result
//! $ burst timeline --last                           # time to compute and time to communicate, by worker
//! ```
//! (`graph` is built beside the example: `cargo run --release -p pagerank --bin graph -- debian packages.txt`. Its other
//! use makes power-law graphs of any size: `graph rmat big.txt --scale 22`. Ten iterations over 34 million nodes and 537
//! million links, scale 25, took four workers on two processors 65 s, 24 of them to read the text, and 12 GB.)
//!
//! # How it is done
//! The graph is a text of lines `from to`. Each worker reads its share of the lines ([`edges`]) and keeps its links by
//! their source ([`links`]): no worker needs a certain part of the graph, because what leads to a node is summed over
//! all workers anyway. In each iteration every worker adds up what its links carry, and
//! [`all_reduce_elements`](burst::Communicator::all_reduce_elements) adds the vectors of all: inside a pack by all its
//! workers together, between packs once per pack. The result is shared by the pack, not copied. Then each worker
//! compares old and new ranks of its share of the *nodes*, and an all-reduce of two numbers tells all of them how
//! much changed ([`rank`]).
//!
//! In a test, or anywhere else, the same function runs on threads:
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

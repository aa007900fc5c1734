//! k-means: divides points into `k` clusters, each around its mean.
//!
//! # Try it
//! ```console
//! $ points points.f64 --count 1000000 --dimensions 8 --clusters 16
//! $ burst deploy kmeans examples/kmeans
//! $ burst flare kmeans --size 8 --param points $PWD/points.f64 --param dimensions 8 --param clusters 16 --result
//! ```
//! (`points` is built beside the example: `cargo run --release -p kmeans --bin points -- points.f64`.) A file of points
//! contains their coordinates as little-endian `f64`, one point after another, which `numpy.fromfile` can read.
//!
//! # How it works
//! Each worker reads its share of the points ([`points`]) and keeps it in memory. The initial centres are found one
//! after another: each worker offers its point that is furthest from the centres found so far, and an all-reduce picks
//! the furthest of those points. Then, in each iteration, every worker adds up its points by their nearest centre,
//! [`all_reduce_elements`](burst::Communicator::all_reduce_elements) adds the sums and counts of all workers, and each
//! centre moves to the mean of its points. The iterations end when no centre moves any more ([`cluster`]). A message
//! has the size of `k` points, however many points the data set has.
//!
//! ```
//! use kmeans::cluster::{Input, work};
//!
//! # let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
//! let path = directory.path().join("points");
//! let bytes: Vec<u8> = [1.0f64, 2.0, 3.0, 100.0, 102.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
//!
//! let input = Input::of(&path, 1, 2);
//! let answers = burst::testing::run(work, vec![input; 4], 2).map_err(|e| e.to_string())?;
//! assert_eq!(answers[0].centres, [[2.0], [101.0]]);
//! # Ok::<(), String>(())
//! ```

pub mod cluster;
pub mod points;

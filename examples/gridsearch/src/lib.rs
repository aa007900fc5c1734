//! Grid search: trains a model with every combination of some parameters and finds the best combination.
//!
//! The trainings do not communicate, but each needs the whole data set. A platform that starts each training in its
//! own container fetches the data set once per training. Here the workers of a pack fetch it once, together.
//!
//! # Try it
//! The task is to classify the packages of Debian as libraries or other software by their one-line descriptions:
//!
//! ```console
//! $ descriptions texts.tsv                     # lines of 1 or 0, a tab, and a text; some 63,000 of them
//! $ burst deploy gridsearch examples/gridsearch
//! $ burst flare gridsearch --size 8 --param data $PWD/texts.tsv --result
//! $ burst timeline --last                      # the phases load and parse end when the worker is ready to train
//! ```
//! (`descriptions` is built beside the example: `cargo run --release -p gridsearch --bin descriptions -- texts.tsv`.)
//!
//! # How it works
//! - [`data::load`](burst::data::load) gives all workers of a pack the same read-only bytes; each worker reads one
//!   slice of them.
//! - Each worker of a pack turns its share of the lines into numbers. An all-gather within the pack
//!   ([`my_pack`](burst::Communicator::my_pack)) then gives each of them the numbers of all lines ([`texts`]), by
//!   pointer and without copies.
//! - Worker `w` of `n` trains a model for each of the combinations `w`, `w + n`, … ([`model`]: logistic regression by
//!   stochastic gradient descent) and tests it on texts that were held out.
//! - Worker 0 gathers the scores and sorts them ([`search`]).
//!
//! ```
//! use gridsearch::search::{Input, work};
//!
//! # let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
//! let path = directory.path().join("texts");
//! std::fs::write(&path, "1\tshared library\n0\ta game\n".repeat(100)).map_err(|e| e.to_string())?;
//!
//! let input = Input::of(&path);
//! let answers = burst::testing::run(work, vec![input; 4], 2).map_err(|e| e.to_string())?;
//! assert_eq!(answers[0].ranking[0].accuracy, 1.0);
//! # Ok::<(), String>(())
//! ```

pub mod model;
pub mod search;
pub mod texts;

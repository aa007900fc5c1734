//! Grid search: a model is trained with every combination of some parameters, and the best combination kept.
//!
//! The trainings have nothing to say to each other, but all of them need the whole data set: a platform that starts
//! each in a container of its own fetches it as many times. Here the workers of a pack fetch it once, together.
//!
//! # Try it
//! The task is to tell libraries from other software by a line of description, for all the packages of Debian:
//!
//! ```console
//! $ descriptions texts.tsv                     # lines of 1 or 0, a tab, and a text; some 63,000 of them
//! $ burst deploy gridsearch examples/gridsearch
//! $ burst flare gridsearch --size 8 --param data $PWD/texts.tsv --result
//! $ burst timeline --last                      # the phases load and parse end when the worker is ready to train
//! ```
//! (`descriptions` is built beside the example: `cargo run --release -p gridsearch --bin descriptions -- texts.tsv`.)
//!
//! # How it is done
//! - [`data::load`](burst::data::load) gives every worker of a pack the same read-only bytes, of which each has read a
//!   slice.
//! - Each worker turns its share of the lines into numbers, and an all-gather in the group of the pack's workers
//!   ([`my_pack`](burst::Communicator::my_pack)) gives all of them everything ([`texts`]): pointers, no copies.
//! - Worker `w` of `n` trains the combinations `w`, `w + n`, … ([`model`]: logistic regression by stochastic gradient
//!   descent) and tries each on texts that are kept apart.
//! - The scores are gathered at worker 0, which sorts them ([`search`]).
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

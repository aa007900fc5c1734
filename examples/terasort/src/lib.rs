//! TeraSort: records of 100 bytes with keys of 10, in the ASCII layout of gensort.
//!
//! The work function is `sort` ([`sort::work`]); `generate` and `validate` make input and prove output, and stand
//! behind the command `tera`.

pub mod generate;
pub mod record;
pub mod sort;
pub mod validate;

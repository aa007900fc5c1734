//! TeraSort: records of 100 bytes with keys of 10, in the ASCII layout of gensort.
//!
//! The work function is [`sort::work`]. The command `tera` generates input (`generate`) and verifies output
//! (`validate`).

pub mod generate;
pub mod record;
pub mod sort;
pub mod validate;

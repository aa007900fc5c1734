//! Reports measurements of benchmarks: a table of minimum, median and maximum with a reference, which is written to
//! a file.

pub mod report;
pub mod results;
pub mod summary;

//! What benchmarks make of their measurements: each in three figures, beside its reference, in a table that is kept.

pub mod report;
pub mod results;
pub mod summary;

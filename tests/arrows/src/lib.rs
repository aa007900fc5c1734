//! Who may know whom in the Rust half: crates as a page of the book has it, modules without circles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod circles;
pub mod modules;
pub mod page;
#[cfg(test)]
mod tests;

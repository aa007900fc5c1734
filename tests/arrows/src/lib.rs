//! Checks dependencies in the Rust half: between crates, as a page of the book defines them; between modules, without
//! circles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod circles;
pub mod modules;
pub mod page;
#[cfg(test)]
mod tests;

//! Checks dependencies: between crates and between Maven modules, as a page of the book allows them; between the
//! modules of a crate, without circles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod circles;
pub mod modules;
pub mod page;
pub mod poms;
#[cfg(test)]
mod tests;

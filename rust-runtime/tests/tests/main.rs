//! Tests of the runtime with programs in it, in a separate process for each test.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod credentials;
mod deaths;
mod flares;
mod floods;
mod groups;
mod installs;
mod interpreters;
mod lanes;
mod launchers;
mod liars;
mod lifecycle;
mod memory;
mod packs;
mod sandboxed;
mod skeletons;
mod stalls;
mod support;
mod suspension;
mod symbols;
mod unauthenticated;

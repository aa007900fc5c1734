//! Tests of the built `burst` against a platform that responds from a script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod admin;
mod answers;
mod closed;
mod connection;
mod deploy;
mod documentation;
mod escapes;
mod flare;
mod following;
mod group;
mod ids;
mod large;
mod looks;
mod new;
mod platform;
mod program;
mod property;
mod run;
mod samples;
mod shell;
mod standalone;
mod terminal;
mod verbs;
mod wsk;

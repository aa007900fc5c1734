//! The `burst` command.
fn main() {}

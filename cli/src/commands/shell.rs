//! `burst completion` and `burst man`: what a shell and `man` want to know of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::Error;
use crate::output;

/// Prints a script that makes the shell complete the command line.
pub fn completion(shell: Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "burst", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Writes a man page for each command.
pub fn man(directory: &Path) -> Result<(), Error> {
    let write = || {
        fs::create_dir_all(directory)?;
        clap_mangen::generate_to(Cli::command(), directory)
    };
    write().map_err(Error::file("write to", directory))?;
    let shown = directory.display();
    output::line(&format!("ok: wrote man pages to {shown}"))?;
    output::next(&format!("`man {shown}/burst.1`"));
    Ok(())
}

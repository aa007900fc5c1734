//! `burst completion` and `burst man`: the command line, described for a shell and for `man`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

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
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        pages(&command, directory)
    };
    write().map_err(Error::file("write to", directory))?;
    let shown = directory.display();
    output::line(&format!("ok: wrote man pages to {shown}"))?;
    let page = directory.join("burst.1").display().to_string();
    output::next(&[&format!("`man {}`", output::word(&page))]);
    Ok(())
}

/// The program and version, shown in the pages' footers.
const SOURCE: &str = concat!("burst ", env!("CARGO_PKG_VERSION"));

fn pages(command: &Command, directory: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        pages(verb, directory)?;
    }
    let man = Man::new(command.clone()).source(SOURCE);
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    fs::write(directory.join(man.get_filename()), with_examples(&page))
}

/// Replaces the meaningless heading of the text below the flags. A line `Example:` or `Examples:` becomes the heading
/// of examples, which are shown unformatted; other text, and what follows the examples, goes under a heading of notes.
fn with_examples(page: &str) -> String {
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line != ".SH EXTRA" {
            text += &format!("{line}\n");
            continue;
        }
        let mut examples = false;
        text += match lines.next_if(|it| ["Example:", "Examples:"].contains(it)) {
            Some(_) => {
                examples = true;
                ".SH EXAMPLES\n.nf\n"
            }
            None => ".SH NOTES\n",
        };
        while let Some(line) = lines.next_if(|it| !it.starts_with(".SH")) {
            if examples && line.is_empty() {
                examples = false;
                text += ".fi\n.SH NOTES\n";
            } else if line == "Example:" || line == "Examples:" {
                examples = true;
                text += ".SH EXAMPLES\n.nf\n";
            } else {
                text += &format!("{line}\n");
            }
        }
        if examples {
            text += ".fi\n";
        }
    }
    text
}

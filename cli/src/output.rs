//! Printing: raw JSON for programs, plain tables for people.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::iter;

use burst_client::{Answer, Body};
use bytesize::ByteSize;
use console::{Style, Term};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::args::Format;
use crate::error::Error;
use crate::table::{Shown, Table, Value as Cell};
use crate::visible;

const BUFFER: usize = 64 * 1024;

/// The only way to write to standard output. The pieces that are written to one printer stay
/// together.
pub struct Printer {
    out: BufWriter<Box<dyn Write>>,
    terminal: bool,
    dim: Style,
}

impl Printer {
    /// Locks standard output until it is dropped.
    pub fn new() -> Self {
        Self::to(io::stdout().lock(), Style::new().dim().for_stdout())
    }

    /// Does the same for standard error, for what is shown beside the output.
    pub fn beside() -> Self {
        Self::to(io::stderr().lock(), Style::new().dim().for_stderr())
    }

    fn to(out: impl Write + IsTerminal + 'static, dim: Style) -> Self {
        Self {
            terminal: out.is_terminal(),
            out: BufWriter::with_capacity(BUFFER, Box::new(out)),
            dim,
        }
    }

    /// Writes text meant for people, escaped even if it does not go to a terminal.
    pub fn people(&mut self, text: &str) -> Result<(), Error> {
        Ok(self.out.write_all(visible::lines(text).as_bytes())?)
    }

    /// Writes text that is already escaped.
    pub fn shown(&mut self, shown: &Shown) -> Result<(), Error> {
        Ok(self.out.write_all(shown.text().as_bytes())?)
    }

    /// Writes dimmed text, which matters less than the text beside it.
    pub fn aside(&mut self, text: &str) -> Result<(), Error> {
        let text = visible::lines(text);
        let text = self.dim.apply_to(text).to_string();
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes the output of a program: unchanged, except to a terminal.
    pub fn program(&mut self, text: &str) -> Result<(), Error> {
        let text = self.fit(text, visible::line);
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes JSON: unchanged, except to a terminal.
    pub fn json(&mut self, text: &str) -> Result<(), Error> {
        let text = self.fit(text, visible::json);
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes an answer of any size, and ends its last line.
    pub fn body<T>(&mut self, mut body: Body<T>) -> Result<(), Error> {
        if self.terminal {
            self.json(body.text()?.text().trim_end())?;
            return self.people("\n");
        }
        let mut piece = vec![0; BUFFER];
        let mut last = b'\n';
        loop {
            match body.read(&mut piece)? {
                0 => break,
                size => {
                    last = piece[size - 1];
                    self.out.write_all(&piece[..size])?;
                }
            }
        }
        if last == b'\n' {
            Ok(())
        } else {
            self.people("\n")
        }
    }

    /// Writes out what is still buffered.
    pub fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    /// Flushes and ends the printer.
    pub fn end(mut self) -> Result<(), Error> {
        self.flush()
    }

    fn fit<'a>(&self, text: &'a str, show: fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
        if self.terminal {
            show(text)
        } else {
            text.into()
        }
    }
}

/// Prints a line, or several.
pub fn line(text: &str) -> Result<(), Error> {
    let mut printer = Printer::new();
    printer.people(text)?;
    printer.people("\n")?;
    printer.end()
}

/// Prints text that is already escaped.
pub fn shown(shown: &Shown) -> Result<(), Error> {
    let mut printer = Printer::new();
    printer.shown(shown)?;
    printer.people("\n")?;
    printer.end()
}

/// Prints a line on standard error; does nothing if that is closed.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible::line(text));
}

/// Prints on standard error what is being done, if a user waits at a terminal.
pub fn hint(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Suggests to a user at a terminal what to do next: one of these steps.
pub fn next(steps: &[&str]) {
    let terminal = Term::stderr();
    if terminal.is_term() {
        let dim = Style::new().dim().for_stderr();
        for line in in_lines(steps, terminal.size().1.into()) {
            let _ = writeln!(io::stderr(), "{}", dim.apply_to(visible::line(&line)));
        }
    }
}

/// Returns the steps on one line if they fit, else a line for each.
fn in_lines(steps: &[&str], width: usize) -> Vec<String> {
    let line = format!("next: {}", steps.join(" or "));
    if line.chars().count() <= width {
        return vec![line];
    }
    let starts = iter::once("next: ").chain(iter::repeat("   or "));
    starts
        .zip(steps)
        .map(|(start, step)| format!("{start}{step}"))
        .collect()
}

/// Quotes a word for a shell, if it needs quotes.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

/// Prints the answer unchanged, or what the closure makes of it for people.
pub fn answer<T>(
    format: Format,
    answer: &Answer<T>,
    people: impl FnOnce() -> Result<Shown, Error>,
) -> Result<(), Error> {
    match format {
        Format::Json => {
            let mut printer = Printer::new();
            printer.json(answer.text().trim_end())?;
            printer.people("\n")?;
            printer.end()
        }
        Format::Table => shown(&people()?),
    }
}

/// Prints the answer unchanged, or for people what was done.
pub fn done<T>(format: Format, answer: &Answer<T>, what: &str) -> Result<(), Error> {
    self::answer(format, answer, || Ok(format!("ok: {what}").into()))
}

/// Prints a list unchanged, or for people a row per element; returns the number of such rows, if it
/// printed a table.
pub fn list<T: DeserializeOwned, const N: usize>(
    format: Format,
    answer: &Answer<Vec<T>>,
    heads: [&str; N],
    row: impl Fn(T) -> [Cell; N],
) -> Result<Option<usize>, Error> {
    let mut seen = None;
    self::answer(format, answer, || {
        let listed = answer.read()?;
        seen = Some(listed.len());
        let mut table = Table::new(heads);
        for element in listed {
            table.row(row(element));
        }
        Ok(table.shown())
    })?;
    Ok(seen)
}

/// A JSON object on one line.
pub fn object(fields: &BTreeMap<String, Box<RawValue>>) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// A size in bytes for people.
pub fn size(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_too_long_for_one_line_get_a_line_each() {
        let steps = ["`burst wait x1`", "`burst logs x1`"];
        let line = "next: `burst wait x1` or `burst logs x1`";
        assert_eq!(in_lines(&steps, 40), [line]);
        assert_eq!(
            in_lines(&steps, 39),
            ["next: `burst wait x1`", "   or `burst logs x1`"]
        );
        assert_eq!(in_lines(&steps[..1], 5), ["next: `burst wait x1`"]);
    }

    #[test]
    fn words_are_quoted_if_a_shell_would_interpret_them() {
        for (text, quoted) in [
            ("hello", "hello"),
            ("./a-b_c.2@x", "./a-b_c.2@x"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("~", "'~'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }
}

//! Printing: raw JSON for programs, plain tables for people.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, UNIX_EPOCH};

use burst_client::{Answer, Body};
use bytesize::ByteSize;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::args::Format;
use crate::error::Error;
use crate::visible;

const BUFFER: usize = 64 * 1024;

/// Standard output, the one way to it: whoever asks for pieces gets them together.
pub struct Printer {
    out: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

impl Printer {
    /// Holds standard output until it is dropped.
    pub fn new() -> Self {
        let out = io::stdout().lock();
        let terminal = out.is_terminal();
        Self {
            out: BufWriter::with_capacity(BUFFER, Box::new(out)),
            terminal,
        }
    }

    /// The same for standard error: what is shown beside the output.
    pub fn beside() -> Self {
        let out = io::stderr().lock();
        let terminal = out.is_terminal();
        Self {
            out: BufWriter::with_capacity(BUFFER, Box::new(out)),
            terminal,
        }
    }

    /// Writes what was made for people, whoever reads it.
    pub fn people(&mut self, text: &str) -> Result<(), Error> {
        Ok(self.out.write_all(visible::lines(text).as_bytes())?)
    }

    /// Writes what a program wrote: to anything but a terminal just so.
    pub fn program(&mut self, text: &str) -> Result<(), Error> {
        let text = self.shown(text, visible::line);
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes JSON: to anything but a terminal just so.
    pub fn json(&mut self, text: &str) -> Result<(), Error> {
        let text = self.shown(text, visible::json);
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes an answer of whatever size, and ends its last line.
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

    /// Writes out what is still held back.
    pub fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    /// The same, at the end.
    pub fn end(mut self) -> Result<(), Error> {
        self.flush()
    }

    fn shown<'a>(&self, text: &'a str, show: fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
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

/// Says something beside the output, to whoever still listens.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible::line(text));
}

/// Says what is being done to someone who waits at a terminal.
pub fn hint(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Prints the answer as it came, or what the closure makes of it for people.
pub fn answer<T>(
    format: Format,
    answer: &Answer<T>,
    people: impl FnOnce() -> Result<String, Error>,
) -> Result<(), Error> {
    match format {
        Format::Json => {
            let mut printer = Printer::new();
            printer.json(answer.text().trim_end())?;
            printer.people("\n")?;
            printer.end()
        }
        Format::Table => line(&people()?),
    }
}

/// An empty table with these column heads; wrapped to the terminal if there is one.
pub fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(heads);
    table
}

/// The table's text: no leading column of blanks, no trailing ones.
pub fn render(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// A table of names and values; those without a value are left out.
pub fn pairs<const N: usize>(pairs: [(&str, Option<String>); N]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    for (name, value) in pairs {
        if let Some(value) = value {
            table.add_row([name.to_owned(), value]);
        }
    }
    render(table)
}

/// A JSON object on one line.
pub fn object(fields: &BTreeMap<String, Box<RawValue>>) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// Microseconds since the epoch as UTC.
pub fn time(micros: u64) -> String {
    match UNIX_EPOCH.checked_add(Duration::from_micros(micros)) {
        // The largest time the formatter knows is the end of the year 9999.
        Some(time) if micros < 253_402_300_800_000_000 => {
            humantime::format_rfc3339_millis(time).to_string()
        }
        _ => "?".into(),
    }
}

/// How long from one time to another, in milliseconds.
pub fn milliseconds(start: u64, end: u64) -> String {
    format!("{:.1}", end.saturating_sub(start) as f64 / 1000.0)
}

/// The same with a unit that fits.
pub fn duration(start: u64, end: u64) -> String {
    let micros = end.saturating_sub(start);
    if micros < 10_000_000 {
        format!("{} ms", milliseconds(start, end))
    } else {
        format!("{:.1} s", micros as f64 / 1e6)
    }
}

/// A size in bytes for people.
pub fn size(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

/// A value, or a dash for none.
pub fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tables_have_no_blanks_around_them() {
        let mut two = table(["A", "LONGER"]);
        two.add_row(["value", "x"]);
        assert_eq!(render(two), "A      LONGER\nvalue  x");
        assert_eq!(
            pairs([("name", Some("x".into())), ("none", None)]),
            "name  x"
        );
    }

    #[test]
    fn times_and_durations_are_readable() {
        assert_eq!(time(1_700_000_000_123_456), "2023-11-14T22:13:20.123Z");
        assert_eq!(time(u64::MAX), "?");
        assert_eq!(duration(0, 1_500), "1.5 ms");
        assert_eq!(duration(0, 12_340_000), "12.3 s");
        assert_eq!(duration(5, 0), "0.0 ms");
    }
}

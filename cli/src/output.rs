//! Printing: raw JSON for programs, plain tables for people.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use bytesize::ByteSize;
use comfy_table::{ContentArrangement, Table, presets};

use crate::api::Output;
use crate::args::Format;
use crate::client::Answer;
use crate::error::Error;

/// Prints a line, or several.
pub fn line(text: &str) -> Result<(), Error> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// Prints the answer as it came, or what the closure makes of it for people.
pub fn answer(
    format: Format,
    answer: &Answer,
    people: impl FnOnce() -> Result<String, Error>,
) -> Result<(), Error> {
    match format {
        Format::Json => line(answer.0.trim_end()),
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

/// The outputs as a JSON array by worker id, one per line; none while a worker has no output.
pub fn outputs(outputs: &mut [Output]) -> Option<String> {
    outputs.sort_by_key(|output| output.worker);
    let values: Option<Vec<_>> = outputs
        .iter()
        .map(|output| output.output.as_ref())
        .collect();
    // The values are JSON already and an array of them always is, too.
    serde_json::to_string_pretty(&values?).ok()
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

    #[test]
    fn outputs_are_in_order_and_untouched() {
        let text = r#"[{"worker":1,"output":{"b":1,"a":12345678901234567890123}},
                       {"worker":0,"output":null}]"#;
        let mut read: Vec<Output> = serde_json::from_str(text).unwrap();
        assert_eq!(
            outputs(&mut read).unwrap(),
            "[\n  null,\n  {\"b\":1,\"a\":12345678901234567890123}\n]"
        );
        let mut missing: Vec<Output> = serde_json::from_str(r#"[{"worker":0}]"#).unwrap();
        assert_eq!(outputs(&mut missing), None);
    }
}

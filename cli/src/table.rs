//! Tables for people: escaped, at most as wide as the terminal, and coloured if colours are enabled.

use comfy_table::{Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Width, presets};
use console::Term;

use crate::visible;

/// Text in which everything that a terminal would act on is already escaped.
pub struct Shown(String);

impl Shown {
    /// The text to print.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Appends a table below.
    pub fn above(mut self, table: Table) -> Self {
        self.0 += "\n\n";
        self.0 += table.shown().text();
        self
    }

    /// Appends a text.
    pub fn and(mut self, text: &str) -> Self {
        self.0 += &visible::lines(text);
        self
    }
}

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self(visible::lines(&text).into_owned())
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Anything of up to this many characters stays on one line, such as the shown part of an id.
const UNBROKEN: usize = 12;

/// Rows of cells.
pub struct Table {
    table: comfy_table::Table,
    /// The number of columns, from the left, that are as wide as their content.
    whole: usize,
}

impl Table {
    /// An empty table with these column heads.
    pub fn new<const N: usize>(heads: [&str; N]) -> Self {
        let mut table = Self::bare(0);
        table
            .table
            .set_header(heads.map(|head| cell(head).add_attribute(Attribute::Bold)));
        table
    }

    fn bare(whole: usize) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        // Styling and width are decided here.
        table.force_no_tty();
        if console::colors_enabled() {
            table.enforce_styling();
        }
        if let Some(width) = width() {
            table.set_width(width);
        }
        Self { table, whole }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [Value; N]) {
        self.table.add_row(cells.map(|value| value.0));
    }

    /// Returns the table's text, without a leading column of blanks or trailing ones. No head and no id is broken, even
    /// if the table is too wide for the terminal.
    pub fn shown(mut self) -> Shown {
        let last = self.table.column_count().saturating_sub(1);
        let heads: Vec<usize> = self
            .table
            .header()
            .into_iter()
            .flat_map(|heads| heads.cell_iter())
            .map(|head| head.content().chars().count())
            .collect();
        let widths = self.table.column_max_content_widths();
        for (at, column) in self.table.column_iter_mut().enumerate() {
            let gap = if at == last { 0 } else { 2 };
            column.set_padding((0, gap));
            let width = widths.get(at).map_or(0, |width| usize::from(*width));
            let head = heads.get(at).copied().unwrap_or_default();
            let least = match at {
                _ if at < self.whole => width,
                _ if at == last => head,
                _ => width.min(UNBROKEN).max(head),
            };
            let least = u16::try_from(least).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
                least.saturating_add(gap),
            )));
        }
        Shown(self.table.trim_fmt())
    }
}

/// Returns the number of columns of standard output, if it is a terminal that reports it.
pub fn width() -> Option<u16> {
    let size = Term::stdout().size_checked();
    size.map(|(_, columns)| columns)
        .filter(|columns| *columns > 0)
}

/// The content of a cell.
pub struct Value(Cell);

fn cell(text: &str) -> Cell {
    Cell::new(visible::line(text))
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(cell(&text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(cell(text))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        number.to_string().into()
    }
}

/// `None` becomes a dash.
impl<T: ToString> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value
            .map_or_else(|| "-".into(), |value| value.to_string())
            .into()
    }
}

/// Returns the state of a flare, a worker, a group, an invoker or a namespace in its colour.
pub fn state(name: &str) -> Value {
    let color = match name {
        "succeeded" | "open" | "up" => Color::DarkGreen,
        "failed" | "timed-out" | "down" => Color::DarkRed,
        "cancelled" | "revoked" => Color::DarkMagenta,
        "placing" | "starting" | "running" | "opening" => Color::DarkCyan,
        "queued" | "pending" | "quarantined" | "draining" | "drained" | "closing" => {
            Color::DarkYellow
        }
        _ => return name.into(),
    };
    Value(cell(name).fg(color))
}

/// Names and values, a line for each.
pub struct Facts(Table);

impl Facts {
    /// An empty list.
    pub fn new() -> Self {
        Self(Table::bare(1))
    }

    /// Adds a value of this name.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.row([name.into(), value.into()]);
        self
    }

    /// Adds a value of this name, if there is one.
    pub fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Returns their text.
    pub fn shown(self) -> Shown {
        self.0.shown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_tables_break_neither_headings_nor_ids() {
        let mut narrow = Table::new(["FLARE", "NAME", "STATE", "ERROR"]);
        narrow.table.set_width(50);
        let name = "a-name-that-is-long";
        let error = "worker 1 panicked: index out of bounds";
        narrow.row([
            "0123abcd0123".into(),
            name.into(),
            "failed".into(),
            error.into(),
        ]);
        let shown = narrow.shown();
        let lines: Vec<&str> = shown.text().lines().collect();
        let heads: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(heads, ["FLARE", "NAME", "STATE", "ERROR"]);
        assert!(lines[1].starts_with("0123abcd0123  "), "{lines:?}");
        assert!(lines[1].contains("  failed  "), "{lines:?}");
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(50), "{lines:?}");

        let mut narrowest = Table::new(["FLARE", "STATE"]);
        narrowest.table.set_width(10);
        narrowest.row(["0123abcd0123".into(), "failed".into()]);
        let shown = narrowest.shown();
        assert!(
            shown
                .text()
                .starts_with("FLARE         STATE\n0123abcd0123  "),
            "{}",
            shown.text()
        );
    }

    #[test]
    fn tables_have_no_surrounding_blanks() {
        let mut two = Table::new(["A", "LONGER"]);
        two.row(["value".into(), "x".into()]);
        two.row([None::<u32>.into(), "\x1b[2J".into()]);
        assert_eq!(
            two.shown().text(),
            "A      LONGER\nvalue  x\n-      \\u{1b}[2J"
        );
        let facts = Facts::new()
            .with("name", "x")
            .with_some("none", None::<u32>);
        assert_eq!(facts.shown().and("\n\x07").text(), "name  x\n\\u{7}");
    }
}

//! The table of `docs/architecture.md`.

/// The path of the page with the table, from the root of the repository.
pub const PAGE: &str = "docs/architecture.md";
const HEAD: &str = "| crate or module | may depend on |";

/// A line of the table: folders of crates and Maven modules, where `examples/*` stands for all in that folder.
pub struct Row {
    parts: Vec<String>,
    /// The ones that these may depend on.
    pub allowed: Vec<String>,
}

impl Row {
    /// Returns whether it covers what is in this folder.
    pub fn has(&self, folder: &str) -> bool {
        self.parts.iter().any(|pattern| fits(pattern, folder))
    }

    /// Returns the entry that allows these to depend on what is in that folder.
    pub fn entry(&self, folder: &str) -> Option<&str> {
        let mut entries = self.allowed.iter().map(String::as_str);
        entries.find(|pattern| fits(pattern, folder))
    }

    /// The folders, as written in the table.
    pub fn name(&self) -> String {
        self.parts.join(", ")
    }

    /// An arrow from these to one that they may depend on.
    pub fn arrow(&self, entry: &str) -> String {
        format!("{} → {entry}", self.name())
    }
}

/// Returns the table in this text.
pub fn rows(text: &str) -> Vec<Row> {
    let table = text.lines().skip_while(|line| *line != HEAD);
    let rows: Vec<_> = table.skip(2).map_while(row).collect();
    assert!(!rows.is_empty(), "{PAGE} has no table with the head {HEAD}");
    rows
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.strip_prefix('|')?.split('|').map(folders);
    let (parts, allowed) = (cells.next()?, cells.next()?);
    Some(Row { parts, allowed })
}

fn folders(cell: &str) -> Vec<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

fn fits(pattern: &str, folder: &str) -> bool {
    match (pattern.strip_suffix("/*"), folder.rsplit_once('/')) {
        (Some(parent), Some((above, _))) => parent == above,
        _ => pattern == folder,
    }
}

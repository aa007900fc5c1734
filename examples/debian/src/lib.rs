//! Real data that every Debian machine has: what its package lists say of each package.
//!
//! `apt-cache dumpavail` knows all packages of the configured archives, some 63,000 in Debian 12. Where there are no
//! lists, the packages that are installed are taken instead, from `/var/lib/dpkg/status`; [`Packages::source`] says
//! which.
//!
//! ```no_run
//! let packages = debian::read()?;
//! println!("{} packages from {}", packages.list.len(), packages.source);
//! # Ok::<(), debian::Unreadable>(())
//! ```

use std::collections::HashSet;
use std::process::Command;

const STATUS: &str = "/var/lib/dpkg/status";

/// What the lists say of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The section of the archive it is in, as `libs` or `games`.
    pub section: String,
    /// The first line of its description.
    pub description: String,
    /// The packages it needs, alternatives included, each once, in the order of the lists.
    pub depends: Vec<String>,
}

impl Package {
    /// Whether it is in one of the sections for libraries.
    pub fn is_library(&self) -> bool {
        matches!(self.section.as_str(), "libs" | "libdevel" | "oldlibs")
    }
}

/// All packages, in the order of the lists, each name once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// Where they are from.
    pub source: &'static str,
    /// The packages.
    pub list: Vec<Package>,
}

/// Neither source could be read.
#[derive(Debug, thiserror::Error)]
#[error("`apt-cache dumpavail` knows no package, and {STATUS} cannot be read: {0}")]
pub struct Unreadable(#[from] std::io::Error);

/// Reads what this machine knows.
///
/// # Errors
/// [`Unreadable`] on a machine without package lists and without dpkg.
pub fn read() -> Result<Packages, Unreadable> {
    // No such command, or one that fails, is the same as one that knows nothing.
    let available = Command::new("apt-cache").arg("dumpavail").output();
    let list = available.map_or_else(|_| Vec::new(), |output| parse(&output.stdout));
    if !list.is_empty() {
        let source = "apt-cache dumpavail";
        return Ok(Packages { source, list });
    }
    let list = parse(&std::fs::read(STATUS)?);
    let source = STATUS;
    Ok(Packages { source, list })
}

/// Reads stanzas of `Field: value` lines; a line that begins with a blank continues the field before it.
pub fn parse(lists: &[u8]) -> Vec<Package> {
    let text = String::from_utf8_lossy(lists);
    let mut seen = HashSet::new();
    let stanzas = text.split("\n\n").map(stanza);
    stanzas
        .filter(|package| !package.name.is_empty() && seen.insert(package.name.clone()))
        .collect()
}

fn stanza(text: &str) -> Package {
    let mut package = Package::default();
    for line in text.lines() {
        let Some((field, value)) = line.split_once(": ") else {
            continue;
        };
        match field {
            "Package" => package.name = value.to_owned(),
            "Section" => package.section = value.to_owned(),
            "Description" => package.description = value.to_owned(),
            "Depends" | "Pre-Depends" => {
                for name in value.split([',', '|']).map(bare_name) {
                    if !name.is_empty() && !package.depends.iter().any(|known| known == name) {
                        package.depends.push(name.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    package
}

/// `python3:any (>= 3.11)` without all but the name.
fn bare_name(dependency: &str) -> &str {
    let dependency = dependency.trim();
    let end = dependency.find([' ', '(', ':']).unwrap_or(dependency.len());
    &dependency[..end]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn stanzas_become_packages() {
        let text = "Package: a\nPre-Depends: dpkg (>= 1.15)\nDepends: b (= 1) | c, d:any, b\nSection: games\n\
                    Description: one\n more of it: much\n\nPackage: b\n\nPackage: a\nSection: twice\n";
        let packages = parse(text.as_bytes());
        assert_eq!(packages.len(), 2);
        assert_eq!(packages[0].depends, ["dpkg", "b", "c", "d"]);
        assert_eq!(
            (&*packages[0].section, &*packages[0].description),
            ("games", "one")
        );
        assert_eq!(packages[1].name, "b");
    }

    #[test]
    fn this_machine_has_packages() {
        let packages = read().unwrap();
        assert!(packages.list.len() > 50, "only {}", packages.list.len());
        assert!(packages.list.iter().any(|package| package.name == "libc6"));
    }
}

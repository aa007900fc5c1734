//! Real data that every Debian machine has: its package lists.
//!
//! `apt-cache dumpavail` lists all packages of the configured archives, some 63,000 in Debian 12. On a machine
//! without package lists, the installed packages in `/var/lib/dpkg/status` are used instead; [`Packages::source`]
//! names the source that was used.
//!
//! ```no_run
//! let packages = debian::read()?;
//! println!("{} packages from {}", packages.list.len(), packages.source);
//! # Ok::<(), debian::Unreadable>(())
//! ```

use std::collections::HashSet;
use std::process::Command;

const STATUS: &str = "/var/lib/dpkg/status";

/// An entry of the package lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// The name of the package.
    pub name: String,
    /// Its section of the archive, such as `libs` or `games`.
    pub section: String,
    /// The first line of its description.
    pub description: String,
    /// The names of the packages it depends on, including alternatives, without duplicates and in the order of the
    /// entry.
    pub depends: Vec<String>,
}

impl Package {
    /// Whether the package is in one of the sections for libraries.
    pub fn is_library(&self) -> bool {
        matches!(self.section.as_str(), "libs" | "libdevel" | "oldlibs")
    }
}

/// All packages, in the order of the lists. Each name occurs once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// Where the packages were read from.
    pub source: &'static str,
    /// The packages.
    pub list: Vec<Package>,
}

/// `apt-cache` lists no packages, and dpkg's status file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`apt-cache dumpavail` knows no package, and {STATUS} cannot be read: {0}")]
pub struct Unreadable(#[from] std::io::Error);

/// Reads this machine's package lists.
///
/// # Errors
/// [`Unreadable`] on a machine without package lists and without dpkg.
pub fn read() -> Result<Packages, Unreadable> {
    // A missing or failing `apt-cache` counts as one that lists no packages.
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

/// Parses stanzas of `Field: value` lines. Lines that continue a field begin with a blank and are ignored.
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

/// Returns the package name alone: `python3` for `python3:any (>= 3.11)`.
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
    fn stanzas_are_parsed_into_packages() {
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
    fn packages_of_this_machine_are_read() {
        let packages = read().unwrap();
        assert!(packages.list.len() > 50, "only {}", packages.list.len());
        assert!(packages.list.iter().any(|package| package.name == "libc6"));
    }
}

//! Checks the documents' commands of this program, and their links to each other.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Burst, Ran};

/// A document and its path.
struct Page {
    path: PathBuf,
    text: String,
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the documents in the top directory, in the book, and below `deploy`.
fn pages() -> Vec<Page> {
    let mut paths = below(repository(), false);
    paths.extend(
        ["docs", "deploy"]
            .map(|it| below(&repository().join(it), true))
            .concat(),
    );
    assert!(paths.len() > 60, "{paths:?}");
    let read = |path: PathBuf| Page {
        text: fs::read_to_string(&path).unwrap(),
        path,
    };
    paths.into_iter().map(read).collect()
}

fn below(directory: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if deep && path.is_dir() {
            found.extend(below(&path, deep));
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
    found
}

impl Page {
    fn name(&self) -> String {
        let name = self.path.strip_prefix(repository()).unwrap();
        name.to_str().unwrap().to_owned()
    }

    /// Returns the code blocks (every second part of the text), or the text between them.
    fn parts(&self, code: bool) -> impl Iterator<Item = &str> {
        let first = usize::from(code);
        self.text.split("```").skip(first).step_by(2)
    }

    /// Returns the words of each command in shell blocks that starts with `program`, one of this
    /// program's names.
    fn commands(&self, program: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for block in self.parts(true) {
            let (language, lines) = block.split_once('\n').unwrap();
            let start = match language {
                "console" => format!("$ {program} "),
                "sh" => format!("{program} "),
                _ => continue,
            };
            let lines = lines.replace("\\\n", " ");
            let commands = lines.lines().filter_map(|line| line.strip_prefix(&start));
            found.extend(commands.map(words));
        }
        found
    }

    /// Returns the targets of the relative links.
    fn links(&self) -> Vec<&str> {
        let links = self.parts(false).flat_map(|text| text.split("](").skip(1));
        links
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !link.contains("://") && !link.starts_with('#'))
            .filter_map(|link| link.split('#').next())
            .collect()
    }
}

/// Returns the words of a command up to a shell operator or comment. The documents need no other
/// shell rules.
fn words(command: &str) -> Vec<String> {
    let words = command.split_whitespace();
    words
        .take_while(|word| !["&", "|", ">", "#"].contains(word))
        .map(|word| word.trim_matches(['"', '\'']))
        .map(|word| {
            if word.starts_with('$') {
                "variable"
            } else {
                word
            }
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn documented_commands_are_valid() {
    let burst = Burst::alone();
    let mut seen = 0;
    for page in pages() {
        for (program, run) in [
            ("burst", Burst::run as fn(&Burst, &[String]) -> Ran),
            ("wsk", Burst::wsk),
        ] {
            for mut command in page.commands(program) {
                // With this, the arguments before it are parsed, but nothing is executed.
                command.push("--help".to_owned());
                let ran = run(&burst, &command);
                assert_eq!(ran.code, Some(0), "{}: {command:?}: {ran:?}", page.name());
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} were found");
}

#[test]
fn links_have_existing_targets() {
    for page in pages() {
        for link in page.links() {
            let target = page.path.parent().unwrap().join(link);
            assert!(target.exists(), "{}: there is no {link}", page.name());
        }
    }
}

/// mdBook turns links to pages into links to their HTML, which pages outside the book do not have.
#[test]
fn pages_of_the_book_link_only_to_pages_of_the_book() {
    let docs = repository().join("docs").canonicalize().unwrap();
    for page in pages() {
        let directory = page.path.parent().unwrap().canonicalize().unwrap();
        if !directory.starts_with(&docs) {
            continue;
        }
        for link in page
            .links()
            .into_iter()
            .filter(|link| link.ends_with(".md"))
        {
            let target = directory.join(link).canonicalize().unwrap();
            assert!(target.starts_with(&docs), "{}: {link}", page.name());
        }
    }
}

#[test]
fn the_summary_lists_every_page() {
    let docs = repository().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for path in below(&docs, true) {
        let page = path.strip_prefix(&docs).unwrap().to_str().unwrap();
        let named = summary.contains(&format!("({page})"));
        assert!(named || page == "SUMMARY.md", "SUMMARY.md lacks {page}");
    }
}

#[test]
fn rust_code_is_tested() {
    let tested = repository().join("rust-runtime/sdk/src/doc_tests.rs");
    let tested = fs::read_to_string(tested).unwrap();
    for page in pages() {
        let rust = page.parts(true).any(|block| block.starts_with("rust\n"));
        let named = tested.contains(&format!("\"{}\"", page.name()));
        assert!(
            named || !rust,
            "{} is not in sdk/src/doc_tests.rs",
            page.name()
        );
    }
}

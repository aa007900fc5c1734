//! Counts words and compares the counts with those of `sort | uniq -c`.

use crate::{Options, error::Error, platform::Platform, shared_directory};
use std::path::Path;
use std::process::Command;

/// Counts words with the system's own tools: writes each run of letters of each file in lower case on a line of its
/// own, then sorts and counts the lines. The `echo` separates the last word of a file from the first word of the
/// next.
const REFERENCE: &str = r#"
find "$1" -type f ! -name '*.gz' ! -name '*.png' -exec sh -c 'for file; do cat "$file"; echo; done' sh {} + |
    LC_ALL=C tr -cs A-Za-z '\n' | LC_ALL=C tr A-Z a-z | grep . |
    LC_ALL=C sort | uniq -c | awk '{ print $2, $1 }'"#;

pub fn run(options: &Options, platform: &Platform, files: &Path) -> Result<(), Error> {
    let output = files.join("output");
    shared_directory(&output)?;
    let path = options
        .path
        .canonicalize()
        .map_err(|source| Error::file("find", &options.path, source))?;

    let program = options.dist.join("examples/wordcount");
    platform.burst(&["deploy", "wordcount", &program.display().to_string()])?;
    let (path, parts) = (path.display().to_string(), output.display().to_string());
    let parameters = [
        ("path", &*path),
        ("output", &parts),
        ("except", r#"["gz","png"]"#),
    ];
    let flare = platform.flare("wordcount", &parameters)?;
    if let Some(id) = flare["flareId"].as_str() {
        print!("{}", platform.burst(&["result", id])?);
    }

    println!("counting again with sort | uniq -c …");
    let expected = shell(&[REFERENCE, "sh", &path])?;
    let found = shell(&[r#"LC_ALL=C sort "$1"/part-*"#, "sh", &parts])?;
    if expected != found {
        let differing = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
        return Err(Error::WrongOutcome(format!(
            "the counts differ, first at {differing:?}"
        )));
    }
    println!("equal: {} distinct words", found.lines().count());
    Ok(())
}

fn shell(arguments: &[&str]) -> Result<String, Error> {
    let output = Command::new("sh")
        .arg("-c")
        .args(arguments)
        .output()
        .map_err(|source| Error::Start {
            command: "sh".into(),
            source,
        })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Error::Command {
            command: "sh".into(),
            status: output.status,
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

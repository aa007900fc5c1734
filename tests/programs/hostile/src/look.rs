//! What a flare finds where another one has run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::memory;
use crate::player::{Player, Step};
use crate::system;

/// At most this many of a kind are listed.
const NAMED: usize = 5;

pub const STEPS: &[(&str, Step)] = &[("look", look)];

fn look(player: &mut Player, _: &Value) -> io::Result<Value> {
    let mut found = json!({
        "process": std::process::id(),
        "processes": others(),
        "files": left(&std::env::temp_dir()),
        "shared": left(Path::new("/dev/shm")),
        "package": left(Path::new(".")),
        "kept": kept(),
        "idle": player.idle.as_millis() as u64,
    });
    let mut lacks = memory::lacks();
    let file = std::env::temp_dir().join("hostile-looks");
    if fs::write(&file, vec![1; 8 << 20]).is_err() {
        lacks.push("room for files");
    }
    let _ = fs::remove_file(file);
    found["lacks"] = json!(lacks);
    Ok(found)
}

/// Files in a directory that this program's scripts create.
fn left(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with("hostile-"))
        .take(NAMED)
        .collect()
}

/// Queues, semaphores and shared memory that outlive their creators.
fn kept() -> Vec<String> {
    let mut kept = left(Path::new("/dev/mqueue"));
    for kind in ["sem", "msg", "shm"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        kept.extend(table.lines().skip(1).map(|_| kind.to_owned()));
    }
    kept.truncate(NAMED);
    kept
}

/// Names of all processes below the runtime but this one.
fn others() -> Vec<String> {
    let mut parents = BTreeMap::new();
    let mut names = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_string_lossy().parse::<i64>();
        let (Ok(number), Ok(stat)) = (number, fs::read_to_string(entry.path().join("stat"))) else {
            continue;
        };
        // The name can contain anything, including brackets.
        if let Some((start, rest)) = stat.rsplit_once(')') {
            let mut fields = rest.split_whitespace();
            let (state, parent) = (fields.next(), fields.next());
            parents.insert(number, parent.and_then(|text| text.parse::<i64>().ok()));
            let name = start
                .split_once('(')
                .map_or(start, |(_, name)| name)
                .to_owned();
            // A process that has ended does nothing any more, reaped or not.
            if let Some(state) = state.filter(|state| !["Z", "X"].contains(state)) {
                names.insert(number, format!("{name} {state}"));
            }
        }
    }
    let (runtime, own) = (system::parent(), i64::from(std::process::id()));
    let below = |number: i64| {
        let mut at = Some(number);
        while let Some(number) = at {
            if number == runtime {
                return true;
            }
            at = parents.get(&number).copied().flatten();
        }
        false
    };
    names
        .iter()
        .filter(|(number, _)| ![runtime, own].contains(*number) && below(**number))
        .map(|(_, name)| name.clone())
        .take(NAMED)
        .collect()
}

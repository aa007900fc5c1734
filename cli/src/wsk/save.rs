//! `action get --save`: an action's code as a file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_client::ActionExec;

use super::name::Name;
use super::show;
use crate::error::Error;
use crate::package::error::PackageError;

/// Writes the code to this file, or to one named after the action; replaces no existing file.
pub fn run(exec: &ActionExec, name: &Name, file: Option<&Path>) -> Result<(), Error> {
    let Some(code) = exec.code.as_ref().filter(|code| !code.is_empty()) else {
        let name = name.path();
        return Err(Error::Usage(match exec.kind.as_str() {
            "sequence" => format!("action {name} is a sequence, which has no code to save"),
            _ => format!("action {name} has no code to save"),
        }));
    };
    let is_binary = exec.binary == Some(true);
    let bytes = if is_binary {
        STANDARD.decode(code).map_err(PackageError::Base64)?
    } else {
        code.clone().into_bytes()
    };
    let path = match file {
        Some(path) => path.to_owned(),
        None => {
            let ending = ending(&exec.kind, is_binary);
            PathBuf::from(format!("{}{ending}", plain(&name.name)?))
        }
    };
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut out = made.map_err(Error::file("write", &path))?;
    if let Err(cause) = out.write_all(&bytes) {
        // Code that is cut off may look whole.
        let _ = fs::remove_file(&path);
        return Err(Error::file("write", &path)(cause));
    }
    let shown = path.canonicalize().unwrap_or(path);
    show::ok(&format!("saved action code to {}", shown.display()))
}

/// Rejects a name by which a platform's answer could write a file elsewhere.
fn plain(name: &str) -> Result<&str, Error> {
    if name.contains('/') || name.starts_with('.') {
        return Err(Error::Usage(format!(
            "\"{name}\" is no file's name: say one with --save-as"
        )));
    }
    Ok(name)
}

fn ending(kind: &str, is_binary: bool) -> &'static str {
    let family = kind.split(':').next().unwrap_or_default();
    match family {
        "java" => ".jar",
        _ if is_binary => ".zip",
        "nodejs" => ".js",
        "python" => ".py",
        "swift" => ".swift",
        "php" => ".php",
        "ruby" => ".rb",
        "go" => ".go",
        "rust" => ".rs",
        _ => "",
    }
}

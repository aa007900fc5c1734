//! Files of every kind, in every place.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::player::{Player, Step, number, word};
use crate::system::{address, call};

pub const STEPS: &[(&str, Step)] = &[
    ("write", write),
    ("read", read),
    ("many", many),
    ("deep", deep),
    ("strange", strange),
    ("shut", shut),
    ("sparse", sparse),
    ("link", link),
    ("mark-package", mark_package),
    ("mark-memory", mark_memory),
];

/// A directory, by its name in scripts.
pub fn directory(name: &str) -> PathBuf {
    match name {
        "shared memory" => "/dev/shm".into(),
        "package" => ".".into(),
        _ => std::env::temp_dir(),
    }
}

/// Appends to any file, which is created if it does not exist.
fn write(_: &mut Player, step: &Value) -> io::Result<Value> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(word(step, "path"))?;
    file.write_all(word(step, "text").as_bytes())?;
    Ok(Value::Null)
}

fn read(_: &mut Player, step: &Value) -> io::Result<Value> {
    let bytes = fs::read(word(step, "path"))?;
    Ok(json!(bytes.len()))
}

fn many(_: &mut Player, step: &Value) -> io::Result<Value> {
    let directory = directory(word(step, "in"));
    let wanted = number(step, "count", 1000);
    for made in 0..wanted {
        if File::create(directory.join(format!("hostile-{made}"))).is_err() {
            return Ok(json!(made));
        }
    }
    Ok(json!(wanted))
}

/// Creates nested directories, deeper than the longest path.
fn deep(_: &mut Player, step: &Value) -> io::Result<Value> {
    let levels = number(step, "levels", 1000);
    let outside = std::env::current_dir()?;
    std::env::set_current_dir(directory(word(step, "in")))?;
    let name = format!("hostile-{}", "d".repeat(100));
    for _ in 0..levels {
        if fs::create_dir(&name).is_err() || std::env::set_current_dir(&name).is_err() {
            break;
        }
    }
    std::env::set_current_dir(outside)?;
    Ok(Value::Null)
}

/// Creates a pipe, a socket, and files whose names are not text.
fn strange(_: &mut Player, step: &Value) -> io::Result<Value> {
    let directory = directory(word(step, "in"));
    let pipe = format!("{}\0", directory.join("hostile-pipe").display());
    let here = libc::AT_FDCWD as usize;
    let mode = (libc::S_IFIFO | 0o600) as usize;
    call(
        libc::SYS_mknodat,
        &[here, address(pipe.as_bytes()), mode, 0],
    )?;
    drop(UnixListener::bind(directory.join("hostile-socket"))?);
    for name in [
        &b"hostile-\n\x1b[2J"[..],
        b"hostile-\xff\xfe",
        b"hostile- -rf",
    ] {
        File::create(directory.join(OsStr::from_bytes(name)))?;
    }
    Ok(Value::Null)
}

/// Creates a directory, with a file in it, that not even its owner may read.
fn shut(_: &mut Player, step: &Value) -> io::Result<Value> {
    let directory = directory(word(step, "in")).join("hostile-shut");
    fs::create_dir(&directory)?;
    File::create(directory.join("within"))?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o0))?;
    Ok(Value::Null)
}

fn sparse(_: &mut Player, step: &Value) -> io::Result<Value> {
    let file = File::create(directory(word(step, "in")).join("hostile-sparse"))?;
    file.set_len(number(step, "gibibytes", 1) << 30)?;
    Ok(Value::Null)
}

fn link(_: &mut Player, step: &Value) -> io::Result<Value> {
    let name = directory(word(step, "in")).join("hostile-link");
    symlink(Path::new(word(step, "to")), name)?;
    Ok(Value::Null)
}

/// Leaves a file beside the program, changing permissions as needed.
fn mark_package(_: &mut Player, _: &Value) -> io::Result<Value> {
    let _ = fs::set_permissions(".", fs::Permissions::from_mode(0o755));
    File::create("hostile-marked")?;
    Ok(Value::Null)
}

/// Writes to the program's file on the disk.
fn mark_memory(_: &mut Player, _: &Value) -> io::Result<Value> {
    let program = std::env::current_exe()?;
    let _ = fs::set_permissions(&program, fs::Permissions::from_mode(0o755));
    let mut file = OpenOptions::new().append(true).open(program)?;
    file.write_all(b"hostile")?;
    Ok(Value::Null)
}

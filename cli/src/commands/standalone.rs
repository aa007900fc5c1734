//! `burst standalone`: writes the settings to a file and becomes the platform's JVM.
//!
//! All settings go through the file, since a backend's address can hold a password, and arguments
//! of a process are for everyone to see.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use crate::args::StandaloneArgs;
use crate::args::standalone::Driver;
use crate::error::Error;
use crate::properties::{data_dir, write_private};

const JAR: &str = "lib/burst-standalone.jar";
const RUNTIME: &str = "bin/burst-runtime";
/// Temporary files of the JVM, below the data.
const TEMPORARY: &str = "tmp";
/// A platform that starts soon and leaves the processors to the workers: no parallel collector, no second compiler.
/// `JAVA_TOOL_OPTIONS` adds to these, as for every JVM.
const JVM_OPTIONS: [&str; 2] = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// Replaces this process by the platform; only comes back with an error.
pub fn run(args: &StandaloneArgs, verbose: bool) -> Result<(), Error> {
    let home = home()?;
    let jar = part(&home, JAR)?;
    // Containers have a runtime of their own, but what is left on a backend is removed from here.
    let runtime = part(&home, RUNTIME)?;
    let data = make_data_dir(args)?;
    let file = data.join("standalone.conf");
    write_private(&file, &render(&settings(args, &data, &runtime)?))?;
    let mut java = Command::new(java());
    java.args(JVM_OPTIONS)
        .arg(format!("-Dconfig.file={}", file.display()))
        // Among the data, where the next start empties it: a killed JVM leaves its unpacked libraries behind.
        .arg(format!(
            "-Djava.io.tmpdir={}",
            data.join(TEMPORARY).display()
        ))
        .arg("-jar")
        .arg(&jar);
    if verbose {
        eprintln!("> {java:?}");
    }
    let cause = java.exec();
    Err(Error::CannotStart(match cause.kind() {
        io::ErrorKind::NotFound => {
            "java was not found: install a Java runtime (17 or later), or set JAVA_HOME".into()
        }
        _ => format!("cannot start {}: {cause}", java.get_program().display()),
    }))
}

/// Where Burst is installed: BURST_HOME, else the directory above that of this program.
fn home() -> Result<PathBuf, Error> {
    if let Some(home) = env::var_os("BURST_HOME").filter(|home| !home.is_empty()) {
        return Ok(home.into());
    }
    let own = env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(|cause| Error::CannotStart(format!("cannot tell where Burst is: {cause}")))?;
    Ok(own
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"))
        .to_owned())
}

fn part(home: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = home.join(name);
    fs::canonicalize(&path).map_err(|_| {
        Error::CannotStart(format!(
            "{} is missing: run `make build`, or set BURST_HOME to where Burst is installed",
            path.display()
        ))
    })
}

fn java() -> PathBuf {
    match env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => Path::new(&home).join("bin/java"),
        None => "java".into(),
    }
}

fn make_data_dir(args: &StandaloneArgs) -> Result<PathBuf, Error> {
    let data =
        args.data.clone().or_else(data_dir).ok_or_else(|| {
            Error::Usage("no home directory: say where data goes with --data".into())
        })?;
    // It will hold keys and everyone's results.
    let mut create = DirBuilder::new();
    create.recursive(true).mode(0o700);
    create
        .create(data.join(TEMPORARY))
        .and_then(|()| fs::canonicalize(&data))
        .map_err(Error::file("create", &data))
}

/// The settings by their path, such as `burst.http.port`.
fn settings(args: &StandaloneArgs, data: &Path, runtime: &Path) -> Result<Value, Error> {
    let mut root = Value::Object(Map::new());
    let mut set = |path: &[&str], value: Value| put(&mut root, path, value);
    set(&["burst", "http", "host"], args.host.as_str().into())?;
    set(&["burst", "http", "port"], args.port.into())?;
    set(&["burst", "data"], text(data)?)?;
    set(&["burst", "invoker", "driver"], args.driver.name().into())?;
    set(&["burst", "invoker", "runtime-binary"], text(runtime)?)?;
    if let Some(slots) = args.slots {
        set(&["burst", "invoker", "slots"], slots.into())?;
    }
    if let Some(limit) = args.memory_limit {
        set(&["burst", "invoker", "memory-limit"], limit.into())?;
    }
    if let Some(time) = args.idle_timeout {
        let time = format!("{}ms", time.as_millis());
        set(&["burst", "invoker", "idle-timeout"], time.into())?;
    }
    if args.driver == Driver::Process && (args.image.is_some() || !args.mount.is_empty()) {
        return Err(Error::Usage(
            "--image and --mount need --driver docker".into(),
        ));
    }
    if let Some(image) = &args.image {
        set(
            &["burst", "invoker", "docker", "image"],
            image.as_str().into(),
        )?;
    }
    if !args.mount.is_empty() {
        set(
            &["burst", "invoker", "docker", "mounts"],
            args.mount.clone().into(),
        )?;
    }
    for (name, uri) in &args.backend {
        set(&["burst", "backends", name], uri.as_str().into())?;
    }
    if let Some(name) = &args.default_backend {
        set(&["burst", "default-backend"], name.as_str().into())?;
    }
    for (key, value) in &args.set {
        let path: Vec<&str> = key.split('.').collect();
        if path.first() != Some(&"burst") || path.len() < 2 || path.contains(&"") {
            return Err(Error::Usage(format!(
                "--set {key}: settings are named burst.…"
            )));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into());
        set(&path, value)?;
    }
    Ok(root)
}

fn put(root: &mut Value, path: &[&str], value: Value) -> Result<(), Error> {
    let mut place = root;
    for name in path {
        let Value::Object(fields) = place else {
            return Err(Error::Usage(format!(
                "{} is inside of a plain value",
                path.join(".")
            )));
        };
        place = fields
            .entry(*name)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *place = value;
    Ok(())
}

fn text(path: &Path) -> Result<Value, Error> {
    let text = path.to_str();
    text.map(Value::from)
        .ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))
}

/// The settings as HOCON, of which JSON is a part: quoted strings hold no substitutions.
fn render(settings: &Value) -> String {
    let mut text = String::from(
        "# Written by `burst standalone` at each start; give settings to that command instead.\n\
         include classpath(\"application\")\n",
    );
    for (key, value) in settings.as_object().into_iter().flatten() {
        text += &format!("{}: {value:#}\n", Value::from(key.as_str()));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::args::{Cli, Command as Verb};
    use clap::Parser;

    fn parse(flags: &[&str]) -> Result<Value, Error> {
        let cli = Cli::parse_from([&["burst", "standalone"], flags].concat());
        let Verb::Standalone(args) = cli.command else {
            unreachable!()
        };
        settings(&args, Path::new("/data"), Path::new("/bin/burst-runtime"))
    }

    #[test]
    fn without_flags_only_what_has_no_other_default_is_set() {
        assert_eq!(
            parse(&[]).unwrap(),
            serde_json::json!({"burst": {
                "http": {"host": "127.0.0.1", "port": 3233},
                "data": "/data",
                "invoker": {"driver": "process", "runtime-binary": "/bin/burst-runtime"}
            }})
        );
    }

    #[test]
    fn every_flag_has_its_setting() {
        let settings = parse(&[
            "--slots=4",
            "--driver=docker",
            "--image=i:1",
            "--mount=/a:/b",
            "--mount=/c:/d:ro",
            "--backend=redis-list=redis://:p@h",
            "--default-backend=redis-list",
            "--idle-timeout=60s",
            "--memory-limit=2048",
            "--port=0",
            "--host=0.0.0.0",
            "--set=burst.limits.burst-size=9",
            "--set=burst.http.name=x",
        ]);
        assert_eq!(
            settings.unwrap(),
            serde_json::json!({"burst": {
                "http": {"host": "0.0.0.0", "port": 0, "name": "x"},
                "data": "/data",
                "invoker": {
                    "driver": "docker", "runtime-binary": "/bin/burst-runtime", "slots": 4,
                    "memory-limit": 2048, "idle-timeout": "60000ms",
                    "docker": {"image": "i:1", "mounts": ["/a:/b", "/c:/d:ro"]}
                },
                "backends": {"redis-list": "redis://:p@h"},
                "default-backend": "redis-list",
                "limits": {"burst-size": 9}
            }})
        );
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(parse(&["--image=i"]).is_err());
        assert!(parse(&["--set=pekko.loglevel=DEBUG"]).is_err());
        assert!(parse(&["--set=burst.data.x=1"]).is_err());
    }
}

//! `burst standalone`, `burst controller`, `burst invoker`: write the settings to a file and become the JVM.
//!
//! All settings go through the file, since a backend's address can hold a password, and everyone can see the arguments
//! of a process.

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value};

use super::jvm::{self, SecondCompiler};
use crate::args::platform::{
    ApiArgs, BackendArgs, ClusterArgs, ControllerArgs, Driver, InvokerArgs, MachineArgs,
    ProcessArgs, StandaloneArgs,
};
use crate::data::{self, Data};
use crate::error::{Error, StartError};
use crate::output;
use crate::properties::{OF_CONTROLLER, write_private};

const RUNTIME: &str = "bin/burst-runtime";
/// Replaces this process with a platform; returns only with an error.
pub fn standalone(args: &StandaloneArgs, verbose: bool) -> Result<(), Error> {
    let data = Data::take(&args.process, "")?;
    output::next(&["in another terminal, `burst new NAME` and `burst run DIR`"]);
    become_java(&STANDALONE, &args.process, &data, verbose, || {
        let mut settings = Settings::default();
        settings.standalone(args)?;
        Ok(settings)
    })
}

/// Replaces this process with a controller; returns only with an error.
pub fn controller(args: &ControllerArgs, verbose: bool) -> Result<(), Error> {
    let data = Data::take(&args.process, OF_CONTROLLER)?;
    become_java(&CONTROLLER, &args.process, &data, verbose, || {
        let mut settings = Settings::default();
        settings.api(&args.api)?;
        settings.backends(&args.backends)?;
        settings.cluster(args.node.as_ref(), &args.cluster)?;
        Ok(settings)
    })
}

/// Replaces this process with an invoker; returns only with an error.
pub fn invoker(args: &InvokerArgs, verbose: bool) -> Result<(), Error> {
    let data = Data::take(&args.process, "-invoker")?;
    become_java(&INVOKER, &args.process, &data, verbose, || {
        let mut settings = Settings::default();
        settings.set_if(&["burst", "invoker", "id"], args.id.as_deref())?;
        settings.machine(&args.machine)?;
        settings.cluster(args.node.as_ref(), &args.cluster)?;
        Ok(settings)
    })
}

/// A process of the platform.
struct Part {
    name: &'static str,
    /// Its main class; `None` for that of the jar.
    main: Option<&'static str>,
    /// Settings, in HOCON, whose default is not the same for all processes; the operator's file overrides them.
    defaults: &'static str,
    second_compiler: SecondCompiler,
}

const STANDALONE: Part = Part {
    name: "standalone",
    main: None,
    defaults: "",
    second_compiler: SecondCompiler::FromFourProcessors,
};
const CONTROLLER: Part = Part {
    name: "controller",
    main: Some("burst.controller.Main"),
    // The port at which other nodes look for a controller.
    defaults: "burst.cluster.port: 2552\n",
    second_compiler: SecondCompiler::FromTwoProcessors,
};
const INVOKER: Part = Part {
    name: "invoker",
    main: Some("burst.invoker.Main"),
    defaults: "",
    second_compiler: SecondCompiler::FromTwoProcessors,
};

/// Writes the settings and becomes the JVM.
fn become_java(
    part: &Part,
    process: &ProcessArgs,
    data: &Data,
    verbose: bool,
    settings: impl FnOnce() -> Result<Settings, Error>,
) -> Result<(), Error> {
    let home = home()?;
    let jar = installed(&home, jvm::JAR)?;
    // Containers bring their own runtime, but this one removes what is left on a backend.
    let runtime = installed(&home, RUNTIME)?;
    let mut settings = settings()?;
    settings.process(process, data.path(), &runtime)?;
    let file = data.path().join(format!("{}.conf", part.name));
    let text = render(part, process.config.as_deref(), &settings.0)?;
    write_private(&file, &text).map_err(|error| match error {
        Error::File { cause, .. } => data::unusable(data.path(), &cause),
        other => other,
    })?;
    let mut java = jvm::command(&home, part.second_compiler);
    java.arg(format!("-Dconfig.file={}", file.display()))
        // In the data directory, where the next start empties it: a killed JVM leaves its unpacked libraries behind.
        .arg(format!("-Djava.io.tmpdir={}", data.temporary().display()));
    match part.main {
        None => java.arg("-jar").arg(&jar),
        Some(main) => java.arg("-cp").arg(&jar).arg(main),
    };
    if verbose {
        output::note(&format!("> {java:?}"));
    }
    let cause = java.exec();
    let program = java.get_program().to_owned();
    Err(match cause.kind() {
        io::ErrorKind::NotFound => StartError::NoJava.into(),
        _ => StartError::Java { program, cause }.into(),
    })
}

/// Where Burst is installed: BURST_HOME, else the directory above that of this program.
fn home() -> Result<PathBuf, Error> {
    if let Some(home) = env::var_os("BURST_HOME").filter(|home| !home.is_empty()) {
        return Ok(home.into());
    }
    let own = env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(StartError::Home)?;
    Ok(own
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"))
        .to_owned())
}

fn installed(home: &Path, name: &str) -> Result<PathBuf, StartError> {
    let path = home.join(name);
    fs::canonicalize(&path).map_err(|_| StartError::Missing(path))
}

/// The settings by their path, such as `burst.http.port`.
struct Settings(Value);

impl Default for Settings {
    fn default() -> Self {
        Self(Value::Object(Map::new()))
    }
}

impl Settings {
    fn set(&mut self, path: &[&str], value: impl Into<Value>) -> Result<(), Error> {
        put(&mut self.0, path, value.into())
    }

    /// Sets a value, if one was given.
    fn set_if(&mut self, path: &[&str], value: Option<impl Into<Value>>) -> Result<(), Error> {
        value.map_or(Ok(()), |value| self.set(path, value))
    }

    fn standalone(&mut self, args: &StandaloneArgs) -> Result<(), Error> {
        self.api(&args.api)?;
        if args.tls {
            self.set(&["burst", "http", "tls", "own"], true)?;
        }
        self.machine(&args.machine)?;
        self.backends(&args.backends)
    }

    fn api(&mut self, args: &ApiArgs) -> Result<(), Error> {
        self.set_if(&["burst", "http", "host"], args.host.as_deref())?;
        self.set_if(&["burst", "http", "port"], args.port)
    }

    fn machine(&mut self, args: &MachineArgs) -> Result<(), Error> {
        let driver = args.driver.map(Driver::name);
        let idle_timeout = args
            .idle_timeout
            .map(|time| format!("{}ms", time.as_millis()));
        self.set_if(&["burst", "invoker", "driver"], driver)?;
        self.set_if(&["burst", "invoker", "slots"], args.slots)?;
        self.set_if(&["burst", "invoker", "memory-limit"], args.memory_limit)?;
        self.set_if(&["burst", "invoker", "idle-timeout"], idle_timeout)?;
        if let Some(image) = &args.image {
            let Some(driver) = args.driver.filter(|driver| driver.has_image()) else {
                return Err(refused("--image", Driver::has_image));
            };
            let path = ["burst", "invoker", driver.name(), "image"];
            self.set(&path, image.as_str())?;
        }
        if !args.mount.is_empty() {
            // Without a flag, the settings file may name any driver. The platform ignores the mounts of the other
            // drivers.
            let asked = match &args.driver {
                Some(driver) => std::slice::from_ref(driver),
                None => Driver::value_variants(),
            };
            let mounting: Vec<_> = asked.iter().filter_map(|driver| driver.mounts()).collect();
            if mounting.is_empty() {
                return Err(refused("--mount", |driver| driver.mounts().is_some()));
            }
            for driver in mounting {
                let path = ["burst", "invoker", driver.name(), "mounts"];
                self.set(&path, args.mount.clone())?;
            }
        }
        Ok(())
    }

    fn backends(&mut self, args: &BackendArgs) -> Result<(), Error> {
        for (name, uri) in &args.backend {
            self.set(&["burst", "backends", name], uri.as_str())?;
        }
        self.set_if(
            &["burst", "default-backend"],
            args.default_backend.as_deref(),
        )
    }

    fn cluster(&mut self, node: Option<&(String, u16)>, args: &ClusterArgs) -> Result<(), Error> {
        if let Some((host, port)) = node {
            self.set(&["burst", "cluster", "host"], host.as_str())?;
            self.set(&["burst", "cluster", "port"], *port)?;
        }
        if !args.seed.is_empty() {
            let seeds: Vec<String> = args.seed.iter().map(|(h, p)| format!("{h}:{p}")).collect();
            self.set(&["burst", "cluster", "seeds"], seeds)?;
        }
        let files: [(&[&str], _); 4] = [
            (&["key"], &args.cluster_key),
            (&["tls", "key"], &args.tls_key),
            (&["tls", "certificate"], &args.tls_certificate),
            (&["tls", "authority"], &args.tls_authority),
        ];
        for (name, file) in files {
            if let Some(file) = file {
                let file = fs::canonicalize(file).map_err(Error::file("read", file))?;
                self.set(&[&["burst", "cluster"], name].concat(), text(&file)?)?;
            }
        }
        Ok(())
    }

    fn process(&mut self, args: &ProcessArgs, data: &Path, runtime: &Path) -> Result<(), Error> {
        self.set(&["burst", "data"], text(data)?)?;
        self.set(&["burst", "invoker", "runtime-binary"], text(runtime)?)?;
        for (key, value) in &args.set {
            let path: Vec<&str> = key.split('.').collect();
            if path.first() != Some(&"burst") || path.len() < 2 || path.contains(&"") {
                return Err(Error::Usage(format!(
                    "--set {key}: settings are named burst.…"
                )));
            }
            let value: Value =
                serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into());
            self.set(&path, value)?;
        }
        Ok(())
    }
}

/// Returns the error for a flag that the requested driver does not have, but others do.
fn refused(flag: &str, has_it: impl Fn(Driver) -> bool) -> Error {
    let drivers = Driver::value_variants().iter().copied();
    let names: Vec<_> = drivers
        .filter(|&driver| has_it(driver))
        .map(Driver::name)
        .collect();
    let drivers = match names.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    };
    Error::Usage(format!("{flag} needs --driver {drivers}"))
}

fn put(root: &mut Value, path: &[&str], value: Value) -> Result<(), Error> {
    let mut setting = root;
    for name in path {
        let Value::Object(fields) = setting else {
            return Err(Error::Usage(format!(
                "{} is inside of a plain value",
                path.join(".")
            )));
        };
        setting = fields
            .entry(*name)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *setting = value;
    Ok(())
}

fn text(path: &Path) -> Result<Value, Error> {
    let text = path.to_str();
    text.map(Value::from)
        .ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))
}

/// Renders the settings as HOCON, of which JSON is a subset: quoted strings hold no substitutions. They override those
/// of the operator's file.
fn render(part: &Part, config: Option<&Path>, settings: &Value) -> Result<String, Error> {
    let mut text = format!(
        "# Written by `burst {}` at each start; give settings to that command instead.\n\
         include classpath(\"application\")\n{}",
        part.name, part.defaults
    );
    if let Some(config) = config {
        let config = fs::canonicalize(config).map_err(Error::file("read", config))?;
        text += &format!("include required(file({}))\n", self::text(&config)?);
    }
    for (key, value) in settings.as_object().into_iter().flatten() {
        text += &format!("{}: {value:#}\n", Value::from(key.as_str()));
    }
    Ok(text)
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
        let mut settings = Settings::default();
        settings.standalone(&args)?;
        let runtime = Path::new("/bin/burst-runtime");
        settings.process(&args.process, Path::new("/data"), runtime)?;
        Ok(settings.0)
    }

    #[test]
    fn without_flags_only_settings_without_defaults_are_written() {
        assert_eq!(
            parse(&[]).unwrap(),
            serde_json::json!({"burst": {
                "data": "/data",
                "invoker": {"runtime-binary": "/bin/burst-runtime"}
            }})
        );
    }

    #[test]
    fn every_flag_sets_its_setting() {
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
            "--tls",
            "--set=burst.limits.burst-size=9",
            "--set=burst.http.name=x",
        ]);
        assert_eq!(
            settings.unwrap(),
            serde_json::json!({"burst": {
                "http": {"host": "0.0.0.0", "port": 0, "name": "x", "tls": {"own": true}},
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
    fn the_image_is_set_for_the_chosen_driver() {
        let settings = parse(&["--driver=kubernetes", "--image=i:1"]).unwrap();
        let invoker = &settings["burst"]["invoker"];
        assert_eq!(invoker["driver"], "kubernetes");
        assert_eq!(invoker["kubernetes"], serde_json::json!({"image": "i:1"}));
    }

    #[test]
    fn mounts_are_set_for_drivers_that_support_them() {
        for driver in ["--driver=sandbox", "--driver=auto"] {
            let settings = parse(&[driver, "--mount=/a:/b", "--mount=/c:/d:ro"]).unwrap();
            let invoker = &settings["burst"]["invoker"];
            let mounts = serde_json::json!({"mounts": ["/a:/b", "/c:/d:ro"]});
            assert_eq!(invoker["sandbox"], mounts);
            assert!(invoker.get("docker").is_none());
        }
        let settings = parse(&["--mount=/a:/b"]).unwrap();
        for driver in ["sandbox", "docker"] {
            let own = &settings["burst"]["invoker"][driver];
            assert_eq!(own["mounts"], serde_json::json!(["/a:/b"]), "{driver}");
        }
    }

    #[test]
    fn contradictory_flags_are_refused() {
        assert!(parse(&["--image=i"]).is_err());
        assert!(parse(&["--driver=sandbox", "--image=i"]).is_err());
        for driver in ["process", "kubernetes"] {
            let driver = format!("--driver={driver}");
            assert!(parse(&[&driver, "--mount=/a:/b"]).is_err());
        }
        assert!(parse(&["--set=pekko.loglevel=DEBUG"]).is_err());
        assert!(parse(&["--set=burst.data.x=1"]).is_err());
    }
}

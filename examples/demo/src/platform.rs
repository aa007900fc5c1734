//! The platform that a demo starts, and the `burst` commands that the demo runs against it.

use crate::{Options, error::Error};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// A platform on a free port with its own data directory. Dropping it stops the platform.
pub struct Platform {
    process: Child,
    /// Held open so that the platform can always write to it.
    output: Option<BufReader<ChildStdout>>,
    burst: PathBuf,
    data: PathBuf,
    /// Options of every flare: size, granularity, packing and backend.
    flare: Vec<String>,
}

impl Platform {
    /// Starts the platform and waits until it is ready.
    pub fn start(options: &Options, data: &Path, files: &Path) -> Result<Self, Error> {
        let burst = options
            .dist
            .join("bin/burst")
            .canonicalize()
            .map_err(|source| Error::file("find", &options.dist.join("bin/burst"), source))?;
        let mut command = Command::new(&burst);
        command
            .args(["standalone", "--port", "0", "--data"])
            .arg(data);
        // One slot per worker, even if the machine has fewer processors: a demo shows packing, not
        // speed.
        command.args([
            "--slots",
            &options.workers.to_string(),
            "--driver",
            &options.driver,
        ]);
        if options.driver != "process" {
            // The example's files have the same paths in packs as on this machine.
            let mut mount = |path: &Path, mode| {
                command
                    .arg("--mount")
                    .arg(format!("{0}:{0}{mode}", path.display()));
            };
            mount(files, "");
            if let Ok(text) = options.path.canonicalize() {
                mount(&text, ":ro");
            }
        }
        if options.backend == "redis-list" {
            let uri = options.redis.as_ref().ok_or(Error::NoRedis)?;
            command.arg("--backend").arg(format!("redis-list={uri}"));
        }
        command.env_remove("BURST_APIHOST").env_remove("BURST_AUTH");
        println!(
            "starting the platform: {} workers' slots, {} driver",
            options.workers, options.driver
        );

        let started = Instant::now();
        let mut process =
            command
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|source| Error::Start {
                    command: burst.display().to_string(),
                    source,
                })?;
        let output = process.stdout.take().map(BufReader::new);
        let mut platform = Self {
            process,
            output,
            burst,
            data: data.to_owned(),
            flare: ["--size", &options.workers.to_string()]
                .into_iter()
                .chain(["--granularity", &options.granularity.to_string()])
                // Without this, packs on one machine could be merged and would exchange no messages.
                .chain(["--packing", "homogeneous"])
                .chain(["--backend", &options.backend])
                .map(str::to_owned)
                .collect(),
        };
        platform.wait_until_ready()?;
        println!(
            "the platform is ready after {} ms",
            started.elapsed().as_millis()
        );
        Ok(platform)
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let mut last_line = String::new();
        for line in self.output.iter_mut().flat_map(BufRead::lines) {
            let line = line.unwrap_or_default();
            if line.starts_with("burst is ready") {
                return Ok(());
            }
            println!("{line}");
            last_line = line;
        }
        Err(Error::NotReady { output: last_line })
    }

    /// Runs `burst` with these arguments and returns what it printed.
    pub fn burst(&self, arguments: &[&str]) -> Result<String, Error> {
        let shown = format!("burst {}", arguments.join(" "));
        println!("$ {shown}");
        let output = Command::new(&self.burst)
            .args(arguments)
            .env("BURST_CONFIG_FILE", self.data.join("properties"))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| Error::Start {
                command: shown.clone(),
                source,
            })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            Err(Error::Command {
                command: shown,
                status: output.status,
                output: text,
            })
        }
    }

    /// Flares `name`, waits for it, prints its timeline and returns the finished flare.
    pub fn flare(&self, name: &str, parameters: &[(&str, &str)]) -> Result<Value, Error> {
        let mut arguments = vec!["flare", name, "--blocking", "--output", "json"];
        arguments.extend(self.flare.iter().map(String::as_str));
        for (key, value) in parameters {
            arguments.extend(["--param", key, value]);
        }
        let answer = self.burst(&arguments)?;
        let unexpected = || Error::Unexpected {
            command: "burst flare".into(),
            answer: answer.clone(),
        };
        let flare: Value = serde_json::from_str(&answer).map_err(|_| unexpected())?;
        let id = flare["flareId"].as_str().ok_or_else(unexpected)?;
        print!("{}", self.burst(&["timeline", id])?);
        Ok(flare)
    }

    /// Stops the platform and waits until it has exited. Further calls do nothing.
    pub fn stop(&mut self) -> Result<(), Error> {
        let command = || "burst standalone".to_owned();
        let wait = |process: &mut Child| {
            process.wait().map_err(|source| Error::Start {
                command: command(),
                source,
            })
        };
        if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Ok(());
        }
        let signal = Command::new("kill")
            .arg(self.process.id().to_string())
            .status();
        if !signal.is_ok_and(|status| status.success()) {
            // SIGTERM could not be sent, so SIGKILL is the last resort.
            let _ = self.process.kill();
        }
        let status = wait(&mut self.process)?;
        if status.success() {
            println!("the platform has stopped");
            Ok(())
        } else {
            Err(Error::Command {
                command: command(),
                status,
                output: String::new(),
            })
        }
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("{error}");
        }
    }
}

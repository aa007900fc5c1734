//! The `burst` command, run as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::command::{self, Finished};
use crate::{Api, built};

/// Enough for `deploy` to build a crate that shares nothing with what is already built.
const LIMIT: Duration = Duration::from_secs(900);

/// The user who runs it, and the platform it runs against.
#[derive(Debug, Clone)]
pub struct Cli {
    apihost: Option<String>,
    auth: Option<String>,
    properties: PathBuf,
    directory: PathBuf,
}

impl Cli {
    /// Runs as the platform's first user, set by environment variables; the properties file of the
    /// user who runs the tests is neither read nor written.
    pub fn of(api: &Api, scratch: &Path) -> Self {
        Self {
            apihost: Some(api.base().to_owned()),
            auth: Some(api.auth()),
            properties: scratch.join("user.properties"),
            directory: built::repository().to_owned(),
        }
    }

    /// Uses another properties file, and nothing from the environment.
    pub fn properties(mut self, file: impl Into<PathBuf>) -> Self {
        self.apihost = None;
        self.auth = None;
        self.properties = file.into();
        self
    }

    /// Uses other credentials.
    pub fn auth(mut self, auth: &str) -> Self {
        self.auth = Some(auth.to_owned());
        self
    }

    /// Uses another API host.
    pub fn apihost(mut self, apihost: &str) -> Self {
        self.apihost = Some(apihost.to_owned());
        self
    }

    /// Runs it to completion.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Finished {
        command::run(&mut self.command(arguments), LIMIT)
    }

    /// Starts it without waiting.
    #[track_caller]
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(built::dist("bin/burst"));
        command
            .args(arguments)
            .current_dir(&self.directory)
            .envs(built::as_users_build())
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env("BURST_CONFIG_FILE", &self.properties)
            .env_remove("BURST_APIHOST")
            .env_remove("BURST_AUTH");
        if let Some(apihost) = &self.apihost {
            command.env("BURST_APIHOST", apihost);
        }
        if let Some(auth) = &self.auth {
            command.env("BURST_AUTH", auth);
        }
        command
    }
}

//! The program under test, with its own home directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::platform::Platform;

pub const AUTH: &str = "uuid:key";
pub const BURST: &str = env!("CARGO_BIN_EXE_burst");

pub struct Burst {
    home: TempDir,
    variables: Vec<(String, String)>,
}

/// The exit code and output of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Burst {
    /// A program that knows no platform.
    pub fn alone() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    /// A program that knows this platform from its environment.
    pub fn of(platform: &Platform) -> Self {
        Self::alone()
            .with("BURST_APIHOST", platform.address())
            .with("BURST_AUTH", AUTH)
    }

    pub fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.variables.push((name.into(), value.as_ref().into()));
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file in the home directory.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Puts an executable copy of a file into the home directory.
    ///
    /// Another process writes it. If this one had it open for writing, a child forked by another
    /// test at that moment would inherit the descriptor, and the file could not be executed ("text
    /// busy").
    pub fn executable(&self, name: &str, source: impl AsRef<Path>) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut install = Command::new("install");
        install.args(["-m", "755"]).arg(source.as_ref()).arg(&path);
        assert!(install.status().unwrap().success());
        path
    }

    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.command_of(BURST, args)
    }

    /// Another program, with the same environment.
    pub fn command_of<S: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: &[S]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env("HOME", self.home())
            .current_dir(self.home());
        for name in [
            "RUSTC_WORKSPACE_WRAPPER",
            "BURST_APIHOST",
            "BURST_AUTH",
            "BURST_ADMIN_AUTH",
            "BURST_CACERT",
            "BURST_CONFIG_FILE",
            "WSK_CONFIG_FILE",
            "WHISK_APIHOST",
            "WHISK_AUTH",
            "WHISK_NAMESPACE",
            "WHISK_CACERT",
            "BURST_HOME",
            "JAVA_HOME",
            "JDK_JAVA_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
        ] {
            command.env_remove(name);
        }
        command.env("TZ", "UTC0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program under the name of OpenWhisk's command line.
    pub fn wsk<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran::from(self.wsk_command(args).output().unwrap())
    }

    pub fn wsk_command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let link = self.home().join("wsk");
        if !link.exists() {
            std::os::unix::fs::symlink(BURST, &link).unwrap();
        }
        self.command_of(link, args)
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Asserts success without messages, and returns the standard output.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.err, "");
        assert!(!self.out.contains('\x1b'), "{self:?}");
        self.out
    }

    /// Asserts the exit code and a single line of error message, and returns that line.
    #[track_caller]
    pub fn fails(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        let sentence = self
            .err
            .strip_prefix("error: ")
            .unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(sentence.lines().count(), 1, "{self:?}");
        sentence.trim_end()
    }
}

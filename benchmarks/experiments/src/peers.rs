//! The systems to compare with: Python packages in a virtual environment, each run by a script in `peers/`.

use burst_tests::built;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The virtual environment and the scripts.
pub struct Peers {
    python: PathBuf,
    scripts: PathBuf,
}

/// The report of a script.
#[derive(Debug, Deserialize)]
pub struct Answer {
    /// Seconds from the start of the process until the engine could be used, or had completed its task.
    pub ready: f64,
    /// Seconds of each run of the operation.
    #[serde(default)]
    pub runs: Vec<f64>,
    /// The result, to be checked.
    #[serde(default)]
    pub result: Value,
    /// Seconds from the start of the process to its end.
    #[serde(skip)]
    pub whole: f64,
}

impl Peers {
    /// Creates the environment, unless it already exists with exactly these packages.
    pub fn prepare(environment: &Path) -> Self {
        let scripts = built::repository().join("benchmarks/experiments/peers");
        let requirements = scripts.join("requirements.txt");
        let wanted = std::fs::read_to_string(&requirements).unwrap();
        let python = std::path::absolute(environment).unwrap().join("bin/python");
        let stamp = environment.join("installed.txt");
        if std::fs::read_to_string(&stamp).ok() != Some(wanted.clone()) {
            eprintln!("== installing the peers into {}", environment.display());
            let venv = ["-m".as_ref(), "venv".as_ref(), environment.as_os_str()];
            succeed(Command::new("python3").args(venv));
            let pip = ["-m", "pip", "install", "--quiet", "--requirement"];
            succeed(Command::new(&python).args(pip).arg(&requirements));
            std::fs::write(&stamp, wanted).unwrap();
        }
        Self { python, scripts }
    }

    /// Runs a script, which prints a line of JSON.
    pub fn run(&self, script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Answer {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let clock = Instant::now();
        let output = Command::new(&self.python)
            .arg(self.scripts.join(script))
            .args(arguments.iter().map(AsRef::as_ref))
            .env("STARTED", started.as_secs_f64().to_string())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let whole = clock.elapsed().as_secs_f64();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {stdout}\n{stderr}");
        // Engines may print lines of their own, even after that line.
        let mut lines = stdout.lines().rev();
        let answer = lines.find_map(|line| serde_json::from_str::<Answer>(line).ok());
        let mut answer = answer
            .unwrap_or_else(|| panic!("{script} says nothing of itself:\n{stdout}\n{stderr}"));
        answer.whole = whole;
        answer
    }

    /// Runs a script that writes files and reports nothing.
    pub fn make(&self, script: &str, arguments: &[&dyn AsRef<OsStr>]) {
        let arguments = arguments.iter().map(AsRef::as_ref);
        succeed(
            Command::new(&self.python)
                .arg(self.scripts.join(script))
                .args(arguments),
        );
    }
}

fn succeed(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?} ended with {status}");
}

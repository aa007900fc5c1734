//! Shims, the users they run as, and what they leave behind.

pub mod client;
pub mod costs;
pub mod echo;
pub mod machine;

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any shim lives in a test that does not hang, even on a busy machine.
pub const SOON: Duration = Duration::from_secs(120);

/// Who starts a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Root,
    /// With this user id, which nobody else has; without one, the user who runs the test.
    Ordinary(Option<u32>),
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The users as which a test can run here.
pub fn everybody() -> Vec<Who> {
    match is_root() {
        true => vec![Who::Root, Who::Ordinary(Some(unused_user()))],
        false => vec![Who::Ordinary(None)],
    }
}

/// A user id that no other test uses, even if several run on this machine.
pub fn unused_user() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    1_000_000 + std::process::id() % 100_000 * 1000 + NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A control group's name that nobody else has.
pub fn unused_group() -> String {
    format!("burst-test-{}", unused_user())
}

/// A copy of the probe that everybody may execute.
pub fn probe() -> &'static Path {
    static COPY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, copy) = COPY.get_or_init(|| {
        let directory = open_directory();
        let copy = directory.path().join("burst-runtime");
        fs::copy(env!("CARGO_BIN_EXE_burst-sandbox-probe"), &copy).unwrap();
        (directory, copy)
    });
    copy
}

/// A directory that everybody may read.
pub fn open_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// A pack to be started, and what is prepared for it.
pub struct Pack {
    pub who: Who,
    pub spec: Value,
    pub package: TempDir,
    variables: Vec<(String, String)>,
}

impl Pack {
    /// A pack with a control group if that is possible.
    pub fn new(who: Who) -> Self {
        let package = open_directory();
        fs::write(package.path().join("exec"), "package").unwrap();
        let mut spec = json!({
            "package": package.path(),
            "tmpMiB": 4,
            "shmMiB": 3,
            "limits": {"memoryMiB": 64, "cpus": 1.5, "processes": 40, "files": 100},
            // Long, so that no pack is killed because the machine is busy: tests of the grace set their own.
            "graceMs": 60_000,
        });
        if who == Who::Root {
            spec["user"] = json!(unused_user());
            spec["group"] = json!(unused_group());
        }
        Self {
            who,
            spec,
            package,
            variables: Vec::new(),
        }
    }

    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.spec[field] = value.into();
        self
    }

    pub fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }

    /// The user for whom the kernel counts the pack's processes.
    pub fn user(&self) -> u32 {
        match (self.who, self.spec["user"].as_u64()) {
            (Who::Ordinary(Some(user)), _) => user,
            (_, Some(user)) => user as u32,
            _ => rustix::process::geteuid().as_raw(),
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        command.envs(self.variables.iter().cloned());
        if let Who::Ordinary(Some(user)) = self.who {
            command.uid(user).gid(user);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    }

    /// Starts a shim, and sends it the description.
    pub fn launch(&self, act: &str) -> Shim {
        self.launch_by(act, |_| {})
    }

    pub fn launch_by(&self, act: &str, change: impl FnOnce(&mut Command)) -> Shim {
        let mut command = self.command(probe());
        command.arg("sandbox");
        change(&mut command);
        self.spawn(command, act)
    }

    /// Starts a shim after a shell script with mounts of its own, and then without rights.
    pub fn launch_where(&self, script: &str, act: &str) -> Shim {
        let mut command = self.command(Path::new("unshare"));
        let without = "exec unshare --user --map-user=1000 --map-group=1000 \"$0\" sandbox";
        let script = format!("{script} && {without}");
        command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
        command.arg(probe());
        self.spawn(command, act)
    }

    /// The same as root, with all rights.
    pub fn launch_as_root_where(&self, script: &str, act: &str) -> Shim {
        let mut command = self.command(Path::new("unshare"));
        let script = format!("{script} && exec \"$0\" sandbox");
        command.args(["--mount", "sh", "-c", &script]).arg(probe());
        self.spawn(command, act)
    }

    fn spawn(&self, mut command: Command, act: &str) -> Shim {
        command.env("PROBE", act);
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{}", self.spec).unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let process = child.id() as i32;
        let (waited, waiting) = channel::<()>();
        thread::spawn(move || {
            if waiting.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: takes plain integers. Whoever waits for the shim drops the channel first.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
        });
        Shim {
            child,
            input: Some(input),
            output,
            processes: Vec::new(),
            watched: waited,
        }
    }

    /// Starts a shim, and waits until its runtime reports that it listens.
    pub fn started(&self, act: &str) -> Shim {
        let mut shim = self.launch(act);
        let line = shim.line();
        assert!(line.starts_with("listening on"), "{line}");
        shim
    }

    /// Runs the pack, returns the line it prints, and ends it.
    pub fn told(&self, act: &str) -> String {
        let mut shim = self.started(act);
        let told = shim.line();
        assert_eq!(shim.end().code, 0, "{told}");
        told
    }

    /// Runs the probe with other commands than a shim's.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Self::output(self.command(probe()).args(arguments))
    }

    /// Runs another program with these arguments and the probe's path as the last.
    pub fn run_by(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(Path::new(arguments[0]));
        Self::output(command.args(&arguments[1..]).arg(probe()))
    }

    fn output(command: &mut Command) -> Output {
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take());
        child.wait_with_output().unwrap()
    }

    /// Waits until no process of the pack runs, as far as they can be told from those of the user who runs the test.
    #[track_caller]
    pub fn assert_no_process(&self) {
        if self.user() != rustix::process::geteuid().as_raw() {
            until("no process is left", || processes(self.user()).is_empty());
        }
    }

    /// Like [`assert_gone`](Self::assert_gone), for a pack whose shim was killed and could not remove its groups: they
    /// are removed as an invoker does it.
    #[track_caller]
    pub fn assert_gone_but_for_groups(&self) {
        self.assert_no_process();
        if let Some(group) = self.spec["group"].as_str() {
            let removed = self.run(&["sandbox", "--remove", group]);
            assert!(removed.status.success(), "{removed:?}");
        }
        self.assert_gone();
    }

    /// Asserts that nothing is left that a sandbox of this pack could leave.
    #[track_caller]
    pub fn assert_gone(&self) {
        self.assert_no_process();
        if let Some(group) = self.spec["group"].as_str() {
            let groups = groups(group);
            assert!(groups.is_empty(), "{groups:?}");
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let package = self.package.path().to_str().unwrap();
        assert!(
            !mounts.contains(package) && !mounts.contains("/sys/kernel "),
            "{mounts}"
        );
        let left: Vec<_> = fs::read_dir(self.package.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

pub struct Shim {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    processes: Vec<i32>,
    /// A shim that does not end in time is killed, unless this is dropped first.
    watched: Sender<()>,
}

/// The result of a shim.
#[derive(Debug)]
pub struct Ended {
    /// 128 plus the signal's number, if a signal ended it.
    pub code: i32,
    pub output: Vec<String>,
    pub errors: String,
}

impl Shim {
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The processes of its sandbox whose end ends all others, as it has reported them so far: process 1 is the last.
    pub fn processes(&self) -> &[i32] {
        &self.processes
    }

    /// The next line of its output, except the numbers of its processes.
    #[track_caller]
    pub fn line(&mut self) -> String {
        match self.output.next() {
            Some(line) => {
                let line = line.unwrap();
                let Some(numbers) = line.strip_prefix("processes ") else {
                    return line;
                };
                self.processes = numbers.split(' ').map(|it| it.parse().unwrap()).collect();
                self.line()
            }
            None => {
                let errors = std::io::read_to_string(self.child.stderr.take().unwrap());
                panic!("its output has ended: {}", errors.unwrap());
            }
        }
    }

    /// The rest of its output, once it has ended by itself.
    pub fn rest(&mut self) -> Vec<String> {
        self.output.by_ref().map(|line| line.unwrap()).collect()
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: takes plain integers; the process has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Closes its standard input, and waits until it has ended.
    pub fn end(mut self) -> Ended {
        self.input = None;
        self.wait()
    }

    /// Waits until it has ended.
    pub fn wait(mut self) -> Ended {
        let output = self.output.map(|line| line.unwrap()).collect();
        drop(self.watched);
        let status = self.child.wait().unwrap();
        drop(self.input);
        Ended {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap()),
            output,
            errors: std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap(),
        }
    }
}

/// The processes of this user, without those that have ended.
pub fn processes(user: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let status = entries.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    let field = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_ascii_whitespace().next().map(str::to_owned))
    };
    status
        .filter(|status| field(status, "Uid:") == Some(user.to_string()))
        .filter(|status| {
            field(status, "State:").is_none_or(|state| !["Z", "X"].contains(&state.as_str()))
        })
        .collect()
}

/// The control groups whose names begin with the prefix, in all hierarchies.
pub fn groups(prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = left.pop() {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            match entry.file_name().to_string_lossy().starts_with(prefix) {
                true => found.push(entry.path()),
                false => left.push(entry.path()),
            }
        }
    }
    found
}

/// Waits until the condition holds, which something else brings about.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes the user that a shim runs as the owner of a file.
pub fn give(path: &Path, who: Who) {
    if let Who::Ordinary(Some(user)) = who {
        chown(path, Some(user), Some(user)).unwrap();
    }
}

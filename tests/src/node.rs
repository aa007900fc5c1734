//! One process of a platform: started by the `burst` command, stopped or killed, and cleaned up.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::account::{self, Account};
use crate::{command, wait};

/// A JVM on two busy processors starts slowly.
pub const START_LIMIT: Duration = Duration::from_secs(300);
/// Longer than a clean stop may take, including the time that flares have to end.
const STOP_LIMIT: Duration = Duration::from_secs(180);

/// A node ended before it was ready.
#[derive(Debug, thiserror::Error)]
#[error("it ended at once with {status}:\n{output}")]
pub struct EndedEarly {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its output.
    pub output: String,
}

/// A process that was started and may not be ready yet.
#[derive(Debug)]
pub struct Node {
    child: Child,
    log: PathBuf,
    // Dropping it cancels the watchdog.
    watchdog: Option<Sender<()>>,
}

impl Node {
    /// Starts a command that becomes a node (see [`burst`]). Its output goes to `log`; `token` distinguishes its
    /// processes from others; it is killed if it lives longer than `lifetime`.
    #[track_caller]
    pub fn spawn(mut command: Command, log: &Path, token: &str, lifetime: Duration) -> Self {
        let output = File::create(log).unwrap();
        command
            .env("BURST_TEST_PLATFORM", token)
            .stdin(Stdio::null())
            .stderr(output.try_clone().unwrap())
            .stdout(output);
        // SAFETY: one system call between fork and exec, safe to make there; it allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // A session of its own distinguishes its children from the test's.
                rustix::process::setsid()?;
                Ok(())
            });
        }
        let child = command::spawn(command).unwrap();
        Self {
            watchdog: Some(watch(child.id(), lifetime)),
            child,
            log: log.to_owned(),
        }
    }

    /// Waits until it reports that it is ready, and returns the rest of that line.
    ///
    /// # Errors
    /// If it ended instead.
    pub fn ready(&mut self) -> Result<String, EndedEarly> {
        wait::until("the node says that it is ready", START_LIMIT, || {
            let output = read_log(&self.log);
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(Err(EndedEarly { status, output }));
            }
            // The last line may be only partly written.
            let (whole, _) = output.rsplit_once('\n')?;
            let (_, rest) = whole.split_once(" is ready")?;
            let line = rest.lines().next().unwrap_or_default();
            Some(Ok(line.trim_start_matches(" on ").trim().to_owned()))
        })
    }

    /// Has it killed if it lives longer than this from now on; `None` removes the limit.
    pub fn limit(&mut self, lifetime: Option<Duration>) {
        self.watchdog = lifetime.map(|lifetime| watch(self.pid(), lifetime));
    }

    /// Its process id, which is also its session's id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(pid(self.pid()), signal).unwrap();
    }

    /// Kills it as `kill -9` does, without a chance to clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it as an operator does; none if it had to be killed.
    pub fn terminate(mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let status = command::wait(&mut self.child, STOP_LIMIT);
        if status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        status
    }

    /// Its exit status, if it has ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// The last lines of its output.
    pub fn last_lines(log: &Path) -> String {
        let output = read_log(log);
        let lines: Vec<&str> = output.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n  ");
        format!("last words in {}:\n  {last}", log.display())
    }
}

/// The content of a log so far, whose last character may be incomplete; empty if the log does not exist yet.
pub fn read_log(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The `burst` command with these arguments, run by this user behind `prefix`, with its home at `home`.
#[track_caller]
pub fn burst(prefix: &[String], account: &Account, home: &Path, arguments: &[String]) -> Command {
    burst_of(
        &account::installation(home),
        prefix,
        account,
        home,
        arguments,
    )
}

/// Like [`burst`], from this distribution.
#[track_caller]
pub fn burst_of(
    distribution: &Path,
    prefix: &[String],
    account: &Account,
    home: &Path,
    arguments: &[String],
) -> Command {
    let installed = distribution.join("bin/burst");
    let mut words = prefix.to_vec();
    words.extend(account.prefix());
    words.push(installed.to_str().unwrap().to_owned());
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .args(arguments)
        // The user may have no access to the directory in which the tests run.
        .current_dir(home)
        .env("HOME", home);
    command
}

/// Checks that a node ended cleanly on SIGTERM.
#[track_caller]
pub fn assert_clean_exit(what: &str, status: Option<ExitStatus>) {
    // A JVM that ends cleanly on SIGTERM exits with 143.
    let code = status.and_then(|status| status.code());
    assert!(
        matches!(code, Some(0 | 143)),
        "after SIGTERM {what} ended with {status:?} (none: it had to be killed)"
    );
}

/// Kills a process by its id; a missing one is not an error.
pub fn kill(process: u32) {
    let _ = rustix::process::kill_process(pid(process), Signal::KILL);
}

/// Sends SIGTERM to a process; a missing one is not an error.
pub fn end(process: u32) {
    let _ = rustix::process::kill_process(pid(process), Signal::TERM);
}

/// Kills a node if its test hangs: whatever the test waits for then fails.
fn watch(node: u32, lifetime: Duration) -> Sender<()> {
    let (called_off, wait) = mpsc::channel();
    thread::spawn(move || {
        if wait.recv_timeout(lifetime) == Err(RecvTimeoutError::Timeout) {
            eprintln!("watchdog: the test takes longer than {lifetime:?}, killing its platform");
            kill(node);
        }
    });
    called_off
}

/// Returns a token that is unique on this machine while the test runs, and not a substring of another one.
pub fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("<{}-{number}>", std::process::id())
}

fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}

//! One process of a platform: started by the `burst` command, stopped or killed, and swept away.

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

/// A JVM on two busy processors takes its time.
pub const START_LIMIT: Duration = Duration::from_secs(300);
/// Longer than a stop in good order may take, and what flares have before to end.
const STOP_LIMIT: Duration = Duration::from_secs(180);

/// A process that was started and may not be ready yet.
#[derive(Debug)]
pub struct Node {
    child: Child,
    log: PathBuf,
    // Dropping it calls the watchdog off.
    watchdog: Option<Sender<()>>,
}

impl Node {
    /// Starts a command that becomes a node (see [`burst`]). What it says goes to `log`; `token` tells
    /// its processes from others; it is killed when it lives longer than `lifetime`.
    #[track_caller]
    pub fn spawn(mut command: Command, log: &Path, token: &str, lifetime: Duration) -> Self {
        let said = File::create(log).unwrap();
        command
            .env("BURST_TEST_PLATFORM", token)
            .stdin(Stdio::null())
            .stderr(said.try_clone().unwrap())
            .stdout(said);
        // SAFETY: one system call between fork and exec, safe to make there; it allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // A session of its own tells its children apart from the test's.
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

    /// Waits until it says that it is ready and gives the rest of that line; what it said instead
    /// when it ended.
    pub fn ready(&mut self) -> Result<String, String> {
        wait::until("the node says that it is ready", START_LIMIT, || {
            let said = said(&self.log);
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(Err(format!("it ended at once with {status}:\n{said}")));
            }
            // The last line may be half written.
            let (whole, _) = said.rsplit_once('\n')?;
            let (_, rest) = whole.split_once(" is ready")?;
            let line = rest.lines().next().unwrap_or_default();
            Some(Ok(line.trim_start_matches(" on ").trim().to_owned()))
        })
    }

    /// Has it be killed when it lives longer than this from now on, or by nobody.
    pub fn limit(&mut self, lifetime: Option<Duration>) {
        self.watchdog = lifetime.map(|lifetime| watch(self.pid(), lifetime));
    }

    /// Its process id, which is also that of its session.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(pid(self.pid()), signal).unwrap();
    }

    /// Kills it as `kill -9` does: it has no chance to clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it as an operator does; none when it had to be killed.
    pub fn terminate(mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let status = command::wait(&mut self.child, STOP_LIMIT);
        if status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        status
    }

    /// How it ended, if it has by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// What it said last.
    pub fn last_words(log: &Path) -> String {
        let said = said(log);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n  ");
        format!("last words in {}:\n  {last}", log.display())
    }
}

/// What a log holds so far, whose last character may be half written; nothing while there is none.
pub fn said(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The `burst` command with these arguments as this user runs it, by what `prefix` says and at `home`.
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

/// As [`burst`], of this distribution.
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
        // Where the tests run it may not be allowed to be.
        .current_dir(home)
        .env("HOME", home);
    command
}

/// Checks that it ended in good order on SIGTERM.
#[track_caller]
pub fn assert_good_end(what: &str, status: Option<ExitStatus>) {
    // 143 is how a JVM says that it ended in good order on SIGTERM.
    let code = status.and_then(|status| status.code());
    assert!(
        matches!(code, Some(0 | 143)),
        "after SIGTERM {what} ended with {status:?} (none: it had to be killed)"
    );
}

/// Kills a process by its id; one that is gone is fine.
pub fn kill(process: u32) {
    let _ = rustix::process::kill_process(pid(process), Signal::KILL);
}

/// Asks a process to end; one that is gone is fine.
pub fn end(process: u32) {
    let _ = rustix::process::kill_process(pid(process), Signal::TERM);
}

/// Kills a node when its test hangs: whatever the test waits for then fails.
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

/// Unique on this machine while the test runs, and no part of another one.
pub fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("<{}-{number}>", std::process::id())
}

fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}

//! Child processes, always waited for with a limit.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::wait;

/// The output and the outcome of a command.
#[derive(Debug)]
pub struct Finished {
    /// Exit code, none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|cause| panic!("standard output is no JSON ({cause}): {self:#?}"))
    }

    /// Checks that standard error holds a text.
    #[track_caller]
    pub fn complains_of(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "`{text}` is missing in: {}",
            self.stderr
        );
        self
    }
}

/// Runs a command to its end; a command that takes longer than `limit` is killed and fails the
/// test.
#[track_caller]
pub fn run(command: &mut Command, limit: Duration) -> Finished {
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|cause| panic!("cannot start {shown}: {cause}"));
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    let status = wait(&mut child, limit).unwrap_or_else(|| {
        let _ = child.kill();
        let _ = child.wait();
        panic!("{shown} had not ended after {limit:?}")
    });
    Finished {
        code: status.code(),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

/// Starts a child that is killed when this process ends, however it ends, so that even an interrupted test takes its
/// servers with it.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    // SAFETY: one system call between fork and exec, safe to make there; it allocates nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
    // A child is killed when the thread that started it ends, so this thread lives as long as the process.
    static PARENT: OnceLock<Sender<(Command, Sender<io::Result<Child>>)>> = OnceLock::new();
    let parent = PARENT.get_or_init(|| {
        let (parent, orders) = channel::<(Command, Sender<io::Result<Child>>)>();
        thread::spawn(move || {
            for (mut command, reply) in orders {
                let _ = reply.send(command.spawn());
            }
        });
        parent
    });
    let (reply, outcome) = channel();
    let _ = parent.send((command, reply));
    outcome.recv().map_err(io::Error::other)?
}

/// Waits for a child to end, at most `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    wait::within(limit, || child.try_wait().unwrap())
}

/// The output of a program, line by line. It is read to its end whether or not anybody wants it, so that the program is
/// never blocked or killed by writing it.
#[derive(Debug)]
pub struct Lines(Receiver<String>);

impl Lines {
    /// Reads a program's standard output.
    pub fn of(output: ChildStdout) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self(lines)
    }

    /// Returns the next line, none at the end of the output; a program that writes nothing [soon](wait::SOON) fails the
    /// test.
    #[track_caller]
    pub fn next(&self) -> Option<String> {
        match self.0.recv_timeout(wait::SOON) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("a program said nothing for {:?}", wait::SOON),
        }
    }
}

/// Reads a pipe to its end on a thread of its own, so that the writer never blocks.
fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

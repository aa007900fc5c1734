//! A test in a process of its own: an ignored test of the same program, which another test starts,
//! talks to and ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The environment variable with a process's argument.
const TOLD: &str = "BURST_TEST_PROCESS";

/// The argument passed by the test that started this process.
pub fn told() -> String {
    std::env::var(TOLD).expect("this test is started by another one")
}

/// A running test process; killed when dropped.
#[derive(Debug)]
pub struct TestProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl TestProcess {
    /// Starts the test of this name, which receives the argument from [`told`].
    pub fn start(test: &str, told: impl Display) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test, "--nocapture"])
            .env(TOLD, told.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Returns the rest of the next line of output that contains a word, after that word.
    pub fn said(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the process ended without saying {word:?}");
    }

    /// Writes a line to the process's input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A test in a process of its own: an ignored one of the same program, which another test starts, talks to and ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// What a process is told when it starts.
const TOLD: &str = "BURST_TEST_PROCESS";

/// What this process was told by the test that has started it.
pub fn told() -> String {
    std::env::var(TOLD).expect("this test is started by another one")
}

/// Ends when dropped.
#[derive(Debug)]
pub struct TestProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl TestProcess {
    /// Starts the test of this name, which finds in [`told`] what it is told.
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

    /// What follows a word in the output.
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

    /// Writes a line to its input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// As the system knows it.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it without a word.
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

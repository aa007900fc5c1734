//! A pack in a process of its own: a test of the same program that is started alone.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Says which pack a process is.
pub const PACK: &str = "BURST_TEST_PACK";

/// Ends when dropped.
pub struct PackProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl PackProcess {
    /// Starts the test of this name as that pack.
    pub fn start(test: &str, pack: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test, "--nocapture"])
            .env(PACK, pack.to_string())
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

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for PackProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

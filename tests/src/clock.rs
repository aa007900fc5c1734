//! A clock for a single node, which can be set while it runs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{command, wait};

/// The time of day as one node sees it. Monotonic clocks are not affected (libfaketime, which could do this, makes a
/// JVM's waits end immediately), nor are the processes that the node starts: packs use the machine's clock.
#[derive(Debug)]
pub struct Clock {
    file: PathBuf,
    library: PathBuf,
}

impl Clock {
    /// Creates a clock that shows the right time, called `name`, with its files in `scratch`. This needs a C compiler.
    #[track_caller]
    pub fn new(name: &str, scratch: &Path) -> Self {
        let file = scratch.join(format!("{name}.clock"));
        let library = scratch.join(format!("{name}.clock.so"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/set_clock.c");
        let mut compile = Command::new("cc");
        compile
            .args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
            .args([&library, Path::new(source)]);
        let finished = command::run(&mut compile, wait::SOON);
        assert_eq!(
            finished.code,
            Some(0),
            "clocks need a C compiler: {finished:#?}"
        );
        fs::write(&file, 0_i64.to_ne_bytes()).unwrap();
        Self { file, library }
    }

    /// Sets the clock this many seconds ahead from now on.
    #[track_caller]
    pub fn set(&self, ahead: i64) {
        // Written in place, as the node has mapped the file.
        let file = File::options().write(true).open(&self.file).unwrap();
        file.write_all_at(&ahead.to_ne_bytes(), 0).unwrap();
    }

    /// The prefix of a command that runs it with this clock.
    pub fn prefix(&self) -> Vec<String> {
        vec![
            "env".into(),
            format!("LD_PRELOAD={}", self.library.display()),
            format!("BURST_TEST_CLOCK={}", self.file.display()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_the_real_time_until_it_is_set() {
        let scratch = tempfile::tempdir().unwrap();
        let clock = Clock::new("test", scratch.path());
        let prefix = clock.prefix();
        let ahead = || {
            let seconds = |command: &mut Command| -> i64 {
                let finished = command::run(command.args(["date", "+%s"]), wait::SOON);
                finished.stdout.trim().parse().unwrap()
            };
            let right = seconds(&mut Command::new("env"));
            seconds(Command::new(&prefix[0]).args(&prefix[1..])) - right
        };
        assert!(ahead() < 1800);
        clock.set(3600);
        assert!((1800..5400).contains(&ahead()));
        clock.set(-3600);
        assert!(ahead() < -1800);
    }
}

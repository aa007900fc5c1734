//! A pseudo-terminal that records its output.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{Burst, Ran};

pub struct Terminal {
    master: OwnedFd,
    path: String,
}

impl Terminal {
    pub fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        Self { master, path }
    }

    /// Opens the end that a program uses as its output.
    pub fn end(&self) -> File {
        let path = &self.path;
        File::options().read(true).write(true).open(path).unwrap()
    }

    /// Returns everything written to the terminal, once no program has it open any more.
    pub fn screen(self) -> String {
        let mut screen = Vec::new();
        // The read then ends with an error.
        let _ = File::from(self.master).read_to_end(&mut screen);
        String::from_utf8_lossy(&screen).replace("\r\n", "\n")
    }
}

/// Runs the program with a terminal as its standard output.
pub fn run_on_terminal(burst: &Burst, args: &[&str]) -> Ran {
    let terminal = Terminal::open();
    let mut command = burst.command(args);
    command.stdout(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    let screen = terminal.screen();
    let mut ran = Ran::from(child.wait_with_output().unwrap());
    ran.out = screen;
    ran
}

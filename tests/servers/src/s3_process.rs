//! An S3 server in a process of its own: for tests that are not written in Rust, and those that keep the server's work
//! separate from their own.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::command::{self, Lines};
use crate::s3::{self, BUCKET, S3Server, SECRET};
use crate::{Signal, stopping};

/// The argument that makes a program act as this server only.
const SERVE: &str = "serve-s3";

/// Serves if this program was started by [`S3Process::of_this_program`], and returns whether it was.
pub fn serve_if_requested() -> io::Result<bool> {
    let is_requested = std::env::args().nth(1).as_deref() == Some(SERVE);
    if is_requested {
        serve("127.0.0.1")?;
    }
    Ok(is_requested)
}

/// Serves until the standard input ends. Once it listens, it writes
/// `s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=http://HOST:PORT` to a line of the standard output, and the
/// directory of its objects to the next.
pub fn serve(host: &str) -> io::Result<()> {
    let server = S3Server::start_at(host);
    // In one write: a reader that wants only the first line may close the pipe before a second write.
    let announcement = format!("{}\n{}\n", server.uri(), server.directory().display());
    io::stdout().write_all(announcement.as_bytes())?;
    // The parent holds the other end, so this process does not outlive it.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

/// An S3 server in a child process. It ends when dropped.
#[derive(Debug)]
pub struct S3Process {
    child: Child,
    uri: String,
    directory: PathBuf,
}

impl S3Process {
    /// Starts a server reachable from this machine only.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// Starts a server at one of this machine's addresses.
    #[track_caller]
    pub fn start_at(host: &str) -> Self {
        let mut command = Command::new(program());
        command.arg(host);
        Self::of(command)
    }

    /// Starts a server reachable from this machine only, by running the current program, which must begin with
    /// [`serve_if_requested`].
    #[track_caller]
    pub fn of_this_program() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(SERVE);
        Self::of(command)
    }

    /// Starts a program that calls [`serve`].
    #[track_caller]
    fn of(mut program: Command) -> Self {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command::spawn(program).unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        let line = || lines.next().expect("the S3 server ended at once");
        Self {
            uri: line(),
            directory: line().into(),
            child,
        }
    }

    /// Its address as a backend.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The secret key that gives access to everything on it.
    pub fn secret(&self) -> &str {
        SECRET
    }

    /// The name of its bucket.
    pub fn bucket(&self) -> &str {
        BUCKET
    }

    /// The address at which it listens.
    pub fn address(&self) -> &str {
        let (_, endpoint) = self.uri.split_once("endpoint=http://").unwrap();
        endpoint
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        stopping::signal(&self.child, signal);
    }

    /// The names of all objects in its bucket, in order.
    pub fn objects(&self) -> Vec<String> {
        s3::objects_in(&self.directory)
    }
}

impl Drop for S3Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The server's program. A test prefers the one that `make` compiles for tests; a benchmark its own build's, which is
/// beside it or in a directory above.
#[track_caller]
fn program() -> PathBuf {
    const NAME: &str = "burst-s3-server";
    let this = std::env::current_exe().unwrap();
    let places = if cfg!(debug_assertions) {
        ["linted/release", "", "release"]
    } else {
        ["", "release", "linted/release"]
    };
    let above = || this.ancestors().skip(1).take(3);
    let mut built =
        (places.iter()).flat_map(|place| above().map(move |it| it.join(place).join(NAME)));
    built
        .find(|program| program.is_file())
        .expect("the S3 server is not built: run `make s3-server`; `make prepare` does")
}

//! An S3 server as a process of its own: for tests that are not written in Rust, and those that want the server's work
//! apart from theirs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::command::{self, Lines};
use crate::s3::{self, BUCKET, S3Server, SECRET};
use crate::{Signal, stopping};

/// The argument by which a program is this server and nothing else.
const SERVE: &str = "serve-s3";

/// Serves if this program was started by [`S3Process::of_this_program`], and says whether it was.
pub fn serve_if_told() -> io::Result<bool> {
    let told = std::env::args().nth(1).as_deref() == Some(SERVE);
    if told {
        serve("127.0.0.1")?;
    }
    Ok(told)
}

/// Serves until the standard input ends. Says `s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=http://HOST:PORT` in a
/// line of the standard output when it listens, and the directory of its objects in the next.
pub fn serve(host: &str) -> io::Result<()> {
    let server = S3Server::start_at(host);
    // In one write: whoever wants the first line alone may be gone before a second one.
    let said = format!("{}\n{}\n", server.uri(), server.directory().display());
    io::stdout().write_all(said.as_bytes())?;
    // Whoever started this holds the other end, so that it does not outlive them.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

/// Ends when dropped.
#[derive(Debug)]
pub struct S3Process {
    child: Child,
    uri: String,
    directory: PathBuf,
}

impl S3Process {
    /// For who runs on this machine.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// At one of this machine's addresses.
    #[track_caller]
    pub fn start_at(host: &str) -> Self {
        let mut command = Command::new(program());
        command.arg(host);
        Self::of(command)
    }

    /// For who runs on this machine, by the program that asks for it, which begins with [`serve_if_told`].
    #[track_caller]
    pub fn of_this_program() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(SERVE);
        Self::of(command)
    }

    /// By a program that comes down to [`serve`].
    #[track_caller]
    fn of(mut program: Command) -> Self {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command::spawn(program).unwrap();
        let said = Lines::of(child.stdout.take().unwrap());
        let line = || said.next().expect("the S3 server ended at once");
        Self {
            uri: line(),
            directory: line().into(),
            child,
        }
    }

    /// What makes it a backend.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What opens everything on it.
    pub fn secret(&self) -> &str {
        SECRET
    }

    /// What its bucket is called.
    pub fn bucket(&self) -> &str {
        BUCKET
    }

    /// Where it listens.
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

/// Beside this program, or the directory above, as cargo puts tests; of a release else.
#[track_caller]
fn program() -> PathBuf {
    const NAME: &str = "burst-s3-server";
    let this = std::env::current_exe().unwrap();
    let build = this.ancestors().skip(1).take(3);
    let mut built =
        build.flat_map(|directory| [directory.join(NAME), directory.join("release").join(NAME)]);
    built.find(|program| program.is_file()).expect(
        "the S3 server is not built: run `cargo build -p burst-test-servers`; tests/prepare.sh does",
    )
}

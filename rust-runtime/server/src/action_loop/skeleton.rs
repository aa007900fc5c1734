//! `burst-runtime skeleton EXEC`: the launcher of executables as OpenWhisk's skeleton runs them (`--native`). Each run
//! is a process that gets its input as an argument and on standard input. The last line of its output is the result.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::iter;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use burst_protocol::{CONTROL_FD, LogStream, OUTPUT_LIMIT, PackEvent, Timestamp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::output::{BOUND, Log, Output, PIECE};
use super::{RunError, log_of, run_all};
use crate::launched::{self, LaunchedRun, failure};

/// The longest argument that the kernel accepts (`MAX_ARG_STRLEN`), without its terminating byte.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// Serves the runtime until it closes the control socket.
///
/// # Errors
/// When there is no control socket, or communication with the runtime fails.
pub fn serve(exec: &Path) -> io::Result<()> {
    launched::serve("skeleton", |run, commands| {
        if !run.begin(commands)? {
            return Ok(());
        }
        run_all(run, iter::repeat(()), |index, worker, ()| {
            run_worker(run, exec, index, worker)
        })?;
        run.end(true, None)
    })
}

fn run_worker(run: &LaunchedRun<'_>, exec: &Path, index: usize, worker: u32) -> io::Result<()> {
    let at = Timestamp::now();
    run.say(&[PackEvent::WorkerStarted { worker, at }])?;
    let input = run.pack.inputs.of(index).map_or("{}", |input| input.get());
    let mut log = log_of(run, worker);
    let result = match start(exec, input, run, index) {
        Err(error) => Err(RunError::exec(exec, error)),
        Ok(mut child) => match follow(&mut child, input.as_bytes(), &mut log)? {
            // It was killed for its output.
            (_, None) => Err(RunError::TooLarge),
            (status, _) if status.signal().is_some() => return run.end_like(worker, status),
            (status, Some(last)) => result(status, &last, &mut log)?,
        },
    };
    let at = Timestamp::now();
    run.say(&[match result {
        Ok(output) => PackEvent::WorkerSucceeded { worker, output, at },
        Err(reason) => PackEvent::WorkerFailed {
            worker,
            error: failure(&reason.to_string()),
            at,
        },
    }])
}

type Outcome = Result<Box<serde_json::value::RawValue>, RunError>;

/// Returns the outcome of a process whose output ended with this line.
fn result(status: ExitStatus, last: &[u8], log: Log<'_>) -> io::Result<Outcome> {
    let failed = match (launched::output(last), status.code()) {
        // As in OpenWhisk, a result counts whatever the exit code.
        (Some(output), Some(_)) => return Ok(Ok(output)),
        (_, Some(code @ 1..)) => RunError::ExitCode(code),
        _ => RunError::NoResult,
    };
    for piece in last.chunks(PIECE) {
        log(LogStream::Stdout, text(piece))?;
    }
    Ok(Err(failed))
}

fn start(exec: &Path, input: &str, run: &LaunchedRun<'_>, index: usize) -> io::Result<Child> {
    let mut command = Command::new(exec);
    if input.len() <= LONGEST_ARGUMENT {
        command.arg(input);
    }
    let deadline = run.pack.deadline.as_micros() / 1000;
    let trace = run.pack.trace.as_ref();
    let traceparent = trace.and_then(|trace| trace.traceparent(index));
    let variables =
        ["TRACEPARENT", "__OW_TRACEPARENT"].map(|name| Some((name, traceparent.as_ref()?)));
    command
        .env_remove(CONTROL_FD)
        .envs(launched::variables(&run.pack.invocation))
        .env("__OW_DEADLINE", deadline.to_string())
        .envs(variables.into_iter().flatten())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: the closure only makes a system call on integers.
    unsafe {
        command.pre_exec(
            || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            },
        );
    }
    command.spawn()
}

/// Sends a process its input and waits for its end, even if others still hold its pipes. Returns how it ended, and the
/// last line of its output unless that is too long.
fn follow(
    child: &mut Child,
    input: &[u8],
    log: Log<'_>,
) -> io::Result<(ExitStatus, Option<Vec<u8>>)> {
    let (ended, ending) = io::pipe()?;
    let process = Pid::from_child(child);
    let talked = thread::scope(|scope| {
        scope.spawn(move || {
            // NOWAIT: the process keeps its number until it is reaped below.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(process), options));
            drop(ending);
        });
        let talked = talk(child, input, &ended, log);
        if !matches!(talked, Ok(Some(_))) {
            let _ = child.kill();
        }
        talked
    })?;
    Ok((child.wait()?, talked))
}

fn talk(
    child: &mut Child,
    input: &[u8],
    ended: &PipeReader,
    log: Log<'_>,
) -> io::Result<Option<Vec<u8>>> {
    let gone = || io::Error::other("it has no pipes");
    let mut stdin = Some(File::from(OwnedFd::from(
        child.stdin.take().ok_or_else(gone)?,
    )));
    let mut stdout = LastLine::of(child.stdout.take().ok_or_else(gone)?.into())?;
    let stderr = child.stderr.take().ok_or_else(gone)?;
    let mut stderr = Output::new(LogStream::Stderr, stderr.into())?;
    if let Some(stdin) = &stdin {
        rustix::io::ioctl_fionbio(stdin, true)?;
    }
    let mut left = input;
    loop {
        if let Some(file) = &mut stdin {
            match file.write(left) {
                Ok(length) => left = &left[length..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // It no longer reads.
                Err(_) => left = &[],
            }
            if left.is_empty() {
                stdin = None;
            }
        }
        let has_ended = wait(ended, stdin.as_ref(), &stdout, &stderr)?;
        for _ in 0..if has_ended { BOUND } else { 1 } {
            if !stdout.read(log)? {
                break;
            }
        }
        stderr.read(log)?;
        if stdout.line.len() > OUTPUT_LIMIT {
            return Ok(None);
        }
        if has_ended {
            stderr.finish(log)?;
            return Ok(Some(stdout.line));
        }
    }
}

/// Waits for something to happen. Returns whether the process has ended.
fn wait(
    ended: &PipeReader,
    stdin: Option<&File>,
    stdout: &LastLine,
    stderr: &Output,
) -> io::Result<bool> {
    let mut waiting = vec![PollFd::new(ended, PollFlags::IN)];
    waiting.extend(stdin.map(|it| PollFd::new(it, PollFlags::OUT)));
    let pipe = stdout.pipe.as_ref();
    waiting.extend(pipe.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
    waiting.extend(stderr.poll());
    retry_on_intr(|| poll(&mut waiting, None))?;
    Ok(!waiting[0].revents().is_empty())
}

/// An output whose last line is kept; the lines before it are logged.
struct LastLine {
    pipe: Option<File>,
    /// Includes its line feed, if that has arrived.
    line: Vec<u8>,
}

impl LastLine {
    fn of(pipe: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            pipe: Some(File::from(pipe)),
            line: Vec::new(),
        })
    }

    /// Reads what is available now. Returns whether to read again.
    fn read(&mut self, log: Log<'_>) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(false);
        };
        let mut bytes = [0; PIECE];
        match pipe.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Ok(length @ 1..) => self.take(&bytes[..length], log)?,
            _ => self.pipe = None,
        }
        Ok(self.pipe.is_some())
    }

    fn take(&mut self, bytes: &[u8], log: Log<'_>) -> io::Result<()> {
        // A line that has ended may still be the last one.
        let from = self.line.len().saturating_sub(1);
        self.line.extend_from_slice(bytes);
        let new = &self.line[from..self.line.len() - 1];
        let Some(end) = new.iter().rposition(|&byte| byte == b'\n') else {
            return Ok(());
        };
        let before: Vec<u8> = self.line.drain(..=from + end).collect();
        for piece in before[..before.len() - 1].chunks(PIECE) {
            log(LogStream::Stdout, text(piece))?;
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_lines_but_the_last_are_logged_in_pieces_of_any_size() {
        let said = b"a\n\nb\n{\"x\":1}\n";
        for size in 1..=said.len() {
            let mut logged = Vec::new();
            let mut output = LastLine {
                pipe: None,
                line: Vec::new(),
            };
            for piece in said.chunks(size) {
                let mut log = |_, text: String| {
                    logged.extend(text.split('\n').map(str::to_owned));
                    Ok(())
                };
                output.take(piece, &mut log).unwrap();
            }
            logged.retain(|line| !line.is_empty());
            assert_eq!(logged, ["a", "b"], "{size}");
            assert_eq!(output.line, b"{\"x\":1}\n", "{size}");
        }
    }
}

//! An action's process: for each run it gets a line of JSON on standard input, and answers with one on descriptor 3.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use burst_protocol::{CONTROL_FD, Invocation, LogStream, OUTPUT_LIMIT};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use serde_json::value::RawValue;

use super::RunError;
use super::output::{BOUND, Output, PIECE};
use crate::launched;

/// The descriptor to which the process writes its answers.
const ANSWERS: i32 = 3;

/// The outcome of a run.
pub(super) enum Answer {
    Result(Box<RawValue>),
    NoResult(RunError),
    Died(ExitStatus),
}

pub(super) struct Action {
    child: Child,
    input: File,
    answers: PipeReader,
    answer: Vec<u8>,
    outputs: [Output; 2],
}

impl Action {
    /// Starts the process, with the details of its first run as environment variables.
    pub(super) fn start(exec: &Path, invocation: &Invocation) -> io::Result<Self> {
        let (answers, writer) = io::pipe()?;
        let mut command = Command::new(exec);
        command
            .env_remove(CONTROL_FD)
            .envs(launched::variables(invocation))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let number = writer.as_raw_fd();
        // SAFETY: the closure only makes system calls on integers. `writer` stays open until the child has started, and
        // is not descriptor 3, which is the control socket here.
        unsafe {
            command.pre_exec(move || {
                if libc::dup2(number, ANSWERS) < 0
                    || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0
                {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        drop(writer);
        let gone = || io::Error::other("it has no pipes");
        let input = child.stdin.take().ok_or_else(gone)?;
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let stderr = child.stderr.take().ok_or_else(gone)?;
        let outputs = [
            (LogStream::Stdout, OwnedFd::from(stdout)),
            (LogStream::Stderr, OwnedFd::from(stderr)),
        ];
        let [stdout, stderr] = outputs.map(|(stream, pipe)| Output::new(stream, pipe));
        let action = Self {
            child,
            input: File::from(OwnedFd::from(input)),
            answers,
            answer: Vec::new(),
            outputs: [stdout?, stderr?],
        };
        rustix::io::ioctl_fionbio(&action.input, true)?;
        rustix::io::ioctl_fionbio(&action.answers, true)?;
        Ok(action)
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends the process a line and waits for its answer.
    pub(super) fn run(
        &mut self,
        line: Vec<u8>,
        mut log: impl FnMut(LogStream, String) -> io::Result<()>,
    ) -> io::Result<Answer> {
        self.forget()?;
        let mut left = line.as_slice();
        loop {
            let [asked, answered] = self.wait(!left.is_empty())?;
            if asked {
                match self.input.write(left) {
                    Ok(length) => left = &left[length..],
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // It no longer reads, but may still answer.
                    Err(_) => left = &[],
                }
            }
            for output in &mut self.outputs {
                output.read(&mut log)?;
            }
            if answered && let Some(answer) = self.read_answer()? {
                for output in &mut self.outputs {
                    output.finish(&mut log)?;
                }
                return Ok(answer);
            }
        }
    }

    /// Discards what the process has written since its last answer, which belongs to no run.
    fn forget(&mut self) -> io::Result<()> {
        for output in &mut self.outputs {
            output.finish(&mut |_, _| Ok(()))?;
        }
        let mut bytes = [0; PIECE];
        for _ in 0..BOUND {
            if !matches!(self.answers.read(&mut bytes), Ok(1..)) {
                break;
            }
        }
        self.answer.clear();
        Ok(())
    }

    /// Waits for something to happen. Returns whether the process takes input, and whether part of an answer has
    /// arrived.
    fn wait(&self, asking: bool) -> io::Result<[bool; 2]> {
        let mut waiting = vec![PollFd::new(&self.answers, PollFlags::IN)];
        if asking {
            waiting.push(PollFd::new(&self.input, PollFlags::OUT));
        }
        waiting.extend(self.outputs.iter().filter_map(Output::poll));
        retry_on_intr(|| poll(&mut waiting, None))?;
        let happened = |index: usize| !waiting[index].revents().is_empty();
        Ok([asking && happened(1), happened(0)])
    }

    fn read_answer(&mut self) -> io::Result<Option<Answer>> {
        let mut bytes = [0; PIECE];
        let read = match self.answers.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            read => read?,
        };
        if read == 0 {
            return Ok(Some(Answer::Died(self.child.wait()?)));
        }
        self.answer.extend_from_slice(&bytes[..read]);
        let new = self.answer.len() - read;
        let end = self.answer[new..].iter().position(|&byte| byte == b'\n');
        let answer = match end {
            Some(end) => match launched::output(&self.answer[..new + end]) {
                Some(output) => Answer::Result(output),
                None => Answer::NoResult(RunError::NoResult),
            },
            None if self.answer.len() > OUTPUT_LIMIT => Answer::NoResult(RunError::TooLarge),
            None => return Ok(None),
        };
        self.answer.clear();
        Ok(Some(answer))
    }
}

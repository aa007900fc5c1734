//! One worker: its function is called, and whatever it does becomes an output or a failure.

use std::io;

use burst_bcm::{Failure, FailureKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::context::BurstContext;
use crate::error::Error;
use crate::panics;
use crate::protocol::{OUTPUT_LIMIT, without_values};

/// What [`main!`](crate::main) and [`testing::run`](crate::testing::run) accept: any function or
/// closure `Fn(Input, &BurstContext) -> Result<Output, Error>`.
pub trait Work<I, O>: Fn(I, &BurstContext) -> Result<O, Error> + Send + Sync {}

impl<F, I, O> Work<I, O> for F where F: Fn(I, &BurstContext) -> Result<O, Error> + Send + Sync {}

/// Calls the work function and gives `after` its output; a panic in either is a failure.
pub(crate) fn call<I, O, R>(
    work: &impl Work<I, O>,
    input: I,
    burst: &BurstContext,
    after: impl FnOnce(O) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let failure = match panics::catch(|| work(input, burst).map(after)) {
        Ok(Ok(Ok(result))) => return Ok(result),
        Ok(Ok(Err(failure))) => failure,
        Ok(Err(error)) => error.to_failure(burst.worker_id(), burst.pack_id()),
        Err(message) => named(burst, FailureKind::Panic, message),
    };
    Err(burst.attribute(failure))
}

/// Reads a worker's input. The failure says what is wrong with it, but not what it holds.
pub(crate) fn read_input<I: DeserializeOwned>(
    input: &RawValue,
    burst: &BurstContext,
) -> Result<I, Failure> {
    let error = match panics::catch(|| serde_json::from_str(input.get())) {
        Ok(Ok(input)) => return Ok(input),
        Ok(Err(error)) => without_values(&error.to_string()),
        Err(message) => message,
    };
    let message = format!("the input does not fit the work function's input type: {error}");
    Err(named(burst, FailureKind::InvalidInput, message))
}

/// Appends a worker's output as JSON.
pub(crate) fn write_output<O: Serialize>(
    output: &O,
    burst: &BurstContext,
    body: &mut Vec<u8>,
) -> Result<(), Failure> {
    let mut limited = Limited {
        body,
        remaining: OUTPUT_LIMIT,
        exceeded: false,
    };
    let Err(error) = serde_json::to_writer(&mut limited, output) else {
        return Ok(());
    };
    let message = if limited.exceeded {
        let limit = OUTPUT_LIMIT / (1024 * 1024);
        format!(
            "the output is larger than {limit} MiB as JSON; write large results to storage and \
             return where they are"
        )
    } else {
        format!("the output cannot be written as JSON: {error}")
    };
    Err(named(burst, FailureKind::Error, message))
}

fn named(burst: &BurstContext, kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure::new(kind, message)
        .of_worker(burst.worker_id(), burst.pack_id())
        .in_operation("work")
}

struct Limited<'a> {
    body: &'a mut Vec<u8>,
    remaining: usize,
    exceeded: bool,
}

impl io::Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.remaining.checked_sub(bytes.len()) {
            Some(remaining) => self.remaining = remaining,
            None => {
                self.exceeded = true;
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        self.body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! One worker: calls the work function and turns the result, or a panic, into an output or a failure.

use std::io;

use burst_bcm::{Failure, FailureKind};
use burst_protocol::{Depth, OUTPUT_DEPTH, OUTPUT_LIMIT, WORK, without_values};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::context::BurstContext;
use crate::error::Error;
use crate::panics;

/// The work functions that [`main!`](crate::main) and [`testing::run`](crate::testing::run) accept: any function or
/// closure `Fn(Input, &BurstContext) -> Result<Output, Error>`.
pub trait Work<I, O>: Fn(I, &BurstContext) -> Result<O, Error> + Send + Sync {}

impl<F, I, O> Work<I, O> for F where F: Fn(I, &BurstContext) -> Result<O, Error> + Send + Sync {}

/// Calls the work function and passes its output to `after`; a panic in either is a failure.
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

/// Reads a worker's input. The failure names the problem, but does not quote the input.
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
    write_json(output, body).map_err(|error| named(burst, FailureKind::Error, error.to_string()))
}

/// Why an output cannot be passed on.
#[derive(Debug, thiserror::Error)]
enum OutputError {
    #[error(
        "the output is larger than {} MiB as JSON; write large results to storage and return where they are",
        OUTPUT_LIMIT / (1024 * 1024)
    )]
    TooLarge,
    #[error(
        "the output is nested more than {OUTPUT_DEPTH} levels deep as JSON; return it in a flatter form"
    )]
    TooDeep,
    #[error("the output cannot be written as JSON: {0}")]
    NoJson(serde_json::Error),
}

fn write_json(output: &impl Serialize, body: &mut Vec<u8>) -> Result<(), OutputError> {
    let mut limited = Limited {
        body,
        remaining: OUTPUT_LIMIT,
        depth: Depth::default(),
        exceeded: None,
    };
    let Err(error) = serde_json::to_writer(&mut limited, output) else {
        return Ok(());
    };
    Err(match limited.exceeded {
        Some(Limit::Size) => OutputError::TooLarge,
        Some(Limit::Depth) => OutputError::TooDeep,
        None => OutputError::NoJson(error),
    })
}

fn named(burst: &BurstContext, kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure::new(kind, message)
        .of_worker(burst.worker_id(), burst.pack_id())
        .in_operation(WORK)
}

/// A JSON writer that limits the size, and stops the serialization when it is nested too deeply, before it overflows
/// the stack.
struct Limited<'a> {
    body: &'a mut Vec<u8>,
    remaining: usize,
    depth: Depth,
    exceeded: Option<Limit>,
}

enum Limit {
    Size,
    Depth,
}

impl io::Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(remaining) = self.remaining.checked_sub(bytes.len()) else {
            self.exceeded = Some(Limit::Size);
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.remaining = remaining;
        if !self.depth.stays_within(OUTPUT_DEPTH, bytes) {
            self.exceeded = Some(Limit::Depth);
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde::Serializer;

    /// Nested arrays.
    struct Nested(u64);

    impl Serialize for Nested {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                0 => serializer.serialize_u64(0),
                levels => [Nested(levels - 1)].serialize(serializer),
            }
        }
    }

    #[test]
    fn an_output_nested_too_deeply_is_an_error_and_does_not_overflow_the_stack() {
        let mut body = Vec::new();
        write_json(&Nested(OUTPUT_DEPTH as u64), &mut body).unwrap();
        assert_eq!(body.len(), 2 * OUTPUT_DEPTH + 1);
        for levels in [OUTPUT_DEPTH as u64 + 1, u64::MAX] {
            let error = write_json(&Nested(levels), &mut Vec::new()).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("more than 256 levels deep"), "{message}");
        }
    }
}

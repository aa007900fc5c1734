//! A work function whose behaviour its input chooses, for the whole-system tests: one worker does
//! something harmful while the others wait for it in an operation.

mod deed;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use burst::{BurstContext, Error};

use crate::deed::How;

/// Written to the standard output right before the deed; the tests measure from it.
const MARK: &str = "now: ";

/// Bytes that each worker first sends to all others, so that the backend has something to clean up.
const GREETING: usize = 64 * 1024;

/// The input of every worker.
#[derive(serde::Deserialize)]
struct Input {
    /// The deed.
    how: How,
    /// The worker that does it; all of them if none.
    who: Option<u32>,
    /// How long `hold` lasts.
    millis: Option<u64>,
    /// A file that `fail-once` creates, and whose existence ends `hold`.
    file: Option<PathBuf>,
    /// Never read: tests look for its value in places where it must not appear.
    #[allow(dead_code)]
    secret: Option<String>,
}

fn work(input: Input, burst: &BurstContext) -> Result<String, Error> {
    burst.phase("greet");
    let greetings: Vec<Vec<u8>> = (0..burst.burst_size()).map(|_| vec![7; GREETING]).collect();
    burst.all_to_all(greetings)?;
    burst.phase("act");
    let me = burst.worker_id();
    if input.who.is_some_and(|who| who != me) {
        // Messages that nobody will receive: they are on the backend when the flare ends.
        burst.send(vec![7_u8; GREETING], input.who.unwrap_or(0))?;
        println!("waiting");
        wait_for(input.who.unwrap_or(0), me, burst)?;
        return Ok("the one that was to fail did not".into());
    }
    println!("{MARK}{:?}", input.how);
    match input.how {
        How::Count => return count(burst),
        How::Variables => return Ok(variables()),
        How::Hold => hold(
            Duration::from_millis(input.millis.unwrap_or(0)),
            input.file.as_deref(),
        ),
        how => deed::perform(how, input.file.as_deref())?,
    }
    Ok(format!("worker {me} of {}", burst.burst_size()))
}

/// Blocks in a receive or, in every other worker, in a collective that lacks a member.
fn wait_for(who: u32, me: u32, burst: &BurstContext) -> Result<(), Error> {
    if me.is_multiple_of(2) {
        burst.recv::<Vec<u8>>(who)?;
    } else {
        burst.barrier()?;
    }
    Ok(())
}

/// Returns the number of the call, after sending it to the next worker twice: the second message is
/// never received, and no later flare may get it.
fn count(burst: &BurstContext) -> Result<String, Error> {
    let mut calls = burst.state(|| Ok(0_u32))?;
    *calls += 1;
    let (me, size) = (burst.worker_id(), burst.burst_size());
    let next = (me + 1) % size;
    burst.send(*calls, next)?;
    burst.send(*calls, next)?;
    // No worker leaves before all have sent.
    burst.barrier()?;
    let received: u32 = burst.recv((me + size - 1) % size)?;
    if received != *calls {
        return Err(Error::new(format!(
            "call {calls} was told of call {received}"
        )));
    }
    Ok(format!("{calls} {}", std::process::id()))
}

/// Returns the process, then a variable on each line. Hashed, as values would end up in the
/// platform's database.
fn variables() -> String {
    let variables = std::env::vars().map(|(name, value)| {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        format!("\n{name}={:016x}", hasher.finish())
    });
    format!("{}{}", std::process::id(), variables.collect::<String>())
}

/// Runs for this time, or until the file exists.
fn hold(time: Duration, until: Option<&Path>) {
    const LOOK: Duration = Duration::from_millis(20);
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now())
        && !until.is_some_and(Path::exists)
    {
        std::thread::sleep(until.map_or(left, |_| left.min(LOOK)));
    }
}

burst::main!(work);

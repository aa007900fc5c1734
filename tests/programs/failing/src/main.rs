//! A work function whose behaviour its input chooses, for the whole-system tests: one worker does
//! something bad while the others wait for it in an operation.

mod deed;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use burst::{BurstContext, Error};

use crate::deed::How;

/// Written on standard output right before the deed; the tests measure from it.
const MARK: &str = "now: ";

/// Bytes each worker hands to all others first, so that the backend has something to forget.
const GREETING: usize = 64 * 1024;

/// What every worker is given.
#[derive(serde::Deserialize)]
struct Input {
    /// What happens.
    how: How,
    /// To which worker; none means all of them.
    who: Option<u32>,
    /// How long `hold` lasts.
    millis: Option<u64>,
    /// A file that `fail-once` makes, and that ends `hold` when it is there.
    file: Option<PathBuf>,
    /// Never read: tests look for its value where it must not be.
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
        // Messages that nobody will take: they are on the backend when the flare ends.
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

/// Blocks in a receive or, every other worker, in a collective that lacks one.
fn wait_for(who: u32, me: u32, burst: &BurstContext) -> Result<(), Error> {
    if me.is_multiple_of(2) {
        burst.recv::<Vec<u8>>(who)?;
    } else {
        burst.barrier()?;
    }
    Ok(())
}

/// The number of the call, after the next worker has been told of it twice: the second message
/// stays where it is, and must be no later flare's.
fn count(burst: &BurstContext) -> Result<String, Error> {
    let mut calls = burst.state(|| Ok(0_u32))?;
    *calls += 1;
    let (me, size) = (burst.worker_id(), burst.burst_size());
    let next = (me + 1) % size;
    burst.send(*calls, next)?;
    burst.send(*calls, next)?;
    // Nobody has left before everybody has sent.
    burst.barrier()?;
    let told: u32 = burst.recv((me + size - 1) % size)?;
    if told != *calls {
        return Err(Error::new(format!("call {calls} was told of call {told}")));
    }
    Ok(format!("{calls} {}", std::process::id()))
}

/// The process, then a variable in each line. Their values would stand in the platform's database.
fn variables() -> String {
    let variables = std::env::vars().map(|(name, value)| {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        format!("\n{name}={:016x}", hasher.finish())
    });
    format!("{}{}", std::process::id(), variables.collect::<String>())
}

/// Runs for so long, or until the file is there.
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

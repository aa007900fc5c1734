//! Waiting for a flare to end.
//!
//! The flare is started without blocking and then asked about: only so is its id known from the
//! start, which is what Ctrl-C needs to cancel this flare and no other. The pauses between the
//! questions grow with the time that has passed, so a flare of a few milliseconds is seen to end
//! within another, and one of minutes is asked about ten times per second.

use std::time::{Duration, Instant};

use crate::api::Flare;
use crate::client::{Answer, Client};
use crate::error::{Error, FlareEnd};
use crate::interrupt::Interrupts;
use crate::progress::Progress;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Pauses are this part of the time passed.
const PART: u32 = 32;
/// A controller that restarts is back within this time, and still knows the flare.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until the flare has ended and hands it back as it came and as it was read.
pub fn to_the_end(
    client: &Client,
    id: &str,
    progress: &Progress,
    interrupts: &Interrupts,
) -> Result<(Answer, Flare), Error> {
    let begin = Instant::now();
    let mut last_seen = begin;
    let mut pause = FIRST_PAUSE;
    loop {
        if interrupts.wait(pause) {
            cancel(client, id)?;
        }
        let asked = Instant::now();
        match client.get(&["flares", id], &[]) {
            Ok(answer) => {
                let flare: Flare = answer.read()?;
                if flare.state.is_final() {
                    return Ok((answer, flare));
                }
                progress.update(&flare);
                last_seen = Instant::now();
                pause = pause_after(begin.elapsed(), asked.elapsed());
            }
            Err(error) if error.is_transient() && last_seen.elapsed() < PATIENCE => {
                pause = LONGEST_PAUSE;
            }
            Err(error) => return Err(lost(error, id)),
        }
    }
}

/// Long answers are asked for less often, whatever the time.
fn pause_after(passed: Duration, answer_took: Duration) -> Duration {
    (passed / PART)
        .clamp(FIRST_PAUSE, LONGEST_PAUSE)
        .max(answer_took)
}

/// Cancels; an error, unless the flare turns out to have ended by itself.
fn cancel(client: &Client, id: &str) -> Result<(), Error> {
    let sentence = match client.delete(&["flares", id]) {
        Ok(_) => format!(
            "interrupted: the platform was asked to cancel flare {id}; `burst status {id}` shows \
             what became of it"
        ),
        Err(Error::Refused { status: 409, .. }) => return Ok(()),
        Err(cause) => format!(
            "interrupted, but flare {id} may still be running, as it could not be cancelled: \
             {cause}; try `burst cancel {id}`"
        ),
    };
    Err(Error::Flare {
        end: FlareEnd::Cancelled,
        sentence,
    })
}

/// The flare goes on without its watcher, so the watcher must know its name.
fn lost(error: Error, id: &str) -> Error {
    let more = format!("; flare {id} may still be running: see `burst status {id}`");
    match error {
        Error::Unreachable { host, cause } => Error::Unreachable {
            host,
            cause: cause + &more,
        },
        Error::Refused {
            status,
            message,
            code,
        } => Error::Refused {
            status,
            message: message + &more,
            code,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_time_and_with_the_answers() {
        let ms = Duration::from_millis;
        for (passed, took, pause) in [
            (0, 0, 1),
            (64, 1, 2),
            (800, 1, 25),
            (60_000, 1, 100),
            (60_000, 900, 900),
        ] {
            assert_eq!(pause_after(ms(passed), ms(took)), ms(pause));
        }
    }
}

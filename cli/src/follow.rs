//! Waits for a flare to end, or a group to open.
//!
//! Ctrl-C stops the flare or group. That needs its id from the start, so the request that starts it does not block, and
//! its state is polled. The pauses between the polls grow with the time that has passed, so that the end of a flare of
//! a few milliseconds is seen within another millisecond, and a flare of minutes is polled ten times per second.

use std::thread;
use std::time::{Duration, Instant};

use burst_client::{Client, Error as ApiError};

use crate::error::{Error, FlareEnd};
use crate::interrupt::Interrupts;
use crate::output;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// A pause is the time passed divided by this.
const PART: u32 = 32;
/// Longest pause after a slow answer: the platform may only have stood still for a while.
const LONGEST_REST: Duration = Duration::from_secs(1);
/// A controller that restarts is back within this time after the first missing answer, and still knows the flare. A
/// request sent within this time can itself go unanswered for longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for the answer to a pending request after the user asked to stop.
const LATE: Duration = Duration::from_secs(5);

/// The kind of thing that is started and then waited for.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A flare, which ends.
    Flare,
    /// A group, which opens.
    Group,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Flare => "flare",
            Self::Group => "group",
        }
    }

    fn list(self) -> &'static str {
        match self {
            Self::Flare => "burst flares",
            Self::Group => "burst group list",
        }
    }

    fn look(self) -> &'static str {
        match self {
            Self::Flare => "burst status",
            Self::Group => "burst group get",
        }
    }

    fn stop(self) -> &'static str {
        match self {
            Self::Flare => "burst cancel",
            Self::Group => "burst group close",
        }
    }
}

/// Waits for a flare or a group that the command has started, and stops it on Ctrl-C.
pub struct Watcher<'a> {
    /// The platform.
    pub client: &'a Client,
    /// The kind of thing to wait for.
    pub kind: Kind,
    /// Ctrl-C.
    pub interrupts: Interrupts,
}

impl Watcher<'_> {
    /// Sends the request that starts it. Also returns whether the user already wants to stop, for `until` to act on.
    pub fn start<A: Send + 'static>(
        &self,
        ask: impl FnOnce(&Client) -> Result<A, ApiError> + Send + 'static,
    ) -> Result<(A, bool), Error> {
        let client = self.client.clone();
        match self.interrupts.during(move || ask(&client)) {
            Ok(answer) => Ok((answer?, false)),
            Err(late) => match late.recv_timeout(LATE) {
                Ok(answer) => Ok((answer?, true)),
                Err(_) => Err(interrupted(&format!(
                    "the platform has not said whether it started the {}: see `{}`",
                    self.kind.name(),
                    self.kind.list()
                ))),
            },
        }
    }

    /// Polls the flare or group of this id until `look` finds what it waits for. Stops it on Ctrl-C, or right away if
    /// `stopped`.
    pub fn until<A: Send + 'static, T>(
        &self,
        id: &str,
        stopped: bool,
        ask: fn(&Client, &str) -> Result<A, ApiError>,
        mut look: impl FnMut(A) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let mut pace = Pace::new(LONGEST_PAUSE);
        let mut stopping = stopped;
        loop {
            if stopping || self.interrupts.wait(pace.pause) {
                self.stop(id)?;
                stopping = false;
            }
            let asked = Instant::now();
            let (client, own_id) = (self.client.clone(), id.to_owned());
            match self.interrupts.during(move || ask(&client, &own_id)) {
                Err(_) => stopping = true,
                Ok(asked_for) => match asked_for.map_err(Error::from).and_then(&mut look) {
                    Ok(Some(found)) => return Ok(found),
                    Ok(None) => pace.answered(asked),
                    Err(error) if pace.forgives(&error, asked) => {}
                    Err(Error::Api(error)) => return Err(self.lost(error, id)),
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Stops the flare or group and returns an error, unless it turns out to have ended by itself.
    fn stop(&self, id: &str) -> Result<(), Error> {
        let (name, look, stop) = (self.kind.name(), self.kind.look(), self.kind.stop());
        output::hint(&format!(
            "cancelling {name} {id}; Ctrl-C again leaves it as it is"
        ));
        let asked = match self.kind {
            Kind::Flare => self.client.cancel_flare(id).map(drop),
            Kind::Group => self.client.close_group(id).map(drop),
        };
        let what = match asked {
            Ok(()) => format!(
                "the platform was asked to cancel {name} {id}; `{look} {id}` shows what became of it"
            ),
            Err(ApiError::Refused { status: 409, .. }) => return Ok(()),
            Err(cause) => format!(
                "{name} {id} may still be running, as it could not be cancelled: {cause}; try \
                 `{stop} {id}`"
            ),
        };
        Err(interrupted(&what))
    }

    /// Adds the id to an error that ends the wait: the flare or group may still be running.
    fn lost(&self, cause: ApiError, id: &str) -> Error {
        let (name, look) = (self.kind.name(), self.kind.look());
        let more = format!("; {name} {id} may still be running: see `{look} {id}`");
        Error::With { cause, more }
    }
}

/// Returns the error for a stop by the user; `what` describes its outcome.
fn interrupted(what: &str) -> Error {
    Error::Flare {
        end: FlareEnd::Cancelled,
        sentence: format!("interrupted: {what}"),
    }
}

/// Polls with `look` until it finds what it waits for, with pauses of at most `longest`. Ctrl-C ends the command, as it
/// does any program.
pub fn watch<T>(
    longest: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let mut pace = Pace::new(longest);
    loop {
        let asked = Instant::now();
        match look() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => pace.answered(asked),
            Err(error) if pace.forgives(&error, asked) => {}
            Err(error) => return Err(error),
        }
        thread::sleep(pace.pause);
    }
}

/// Decides when to poll again.
struct Pace {
    begin: Instant,
    /// When the platform first failed to answer, if it has not answered since.
    away: Option<Instant>,
    longest: Duration,
    pause: Duration,
}

impl Pace {
    fn new(longest: Duration) -> Self {
        Self {
            begin: Instant::now(),
            away: None,
            longest,
            pause: FIRST_PAUSE,
        }
    }

    /// Records that the platform has answered the request sent at `asked`.
    fn answered(&mut self, asked: Instant) {
        self.away = None;
        self.pause = pause_after(self.begin.elapsed(), asked.elapsed(), self.longest);
    }

    /// Whether the platform may still answer after this error, which the request sent at `asked` ended with.
    fn forgives(&mut self, error: &Error, asked: Instant) -> bool {
        self.pause = self.longest;
        let away = *self.away.get_or_insert_with(Instant::now);
        let transient = matches!(error, Error::Api(error) if error.is_transient());
        transient && asked.saturating_duration_since(away) < PATIENCE
    }
}

/// Returns the next pause. Slow answers are requested less often, however much time has passed.
fn pause_after(passed: Duration, answer_took: Duration, longest: Duration) -> Duration {
    (passed / PART)
        .clamp(FIRST_PAUSE, longest)
        .max(answer_took.min(LONGEST_REST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use burst_client::ConnectionError;

    #[test]
    fn a_platform_that_stops_answering_has_a_grace_period() {
        let broken = Error::Api(burst_client::Error::Broken {
            host: "h".to_owned(),
            cause: ConnectionError::TimedOut,
        });
        let mut pace = Pace::new(LONGEST_PAUSE);
        let asked = Instant::now();
        assert!(pace.forgives(&broken, asked));
        assert!(pace.forgives(&broken, asked + PATIENCE / 2));
        assert!(!pace.forgives(&broken, asked + 2 * PATIENCE));
        pace.answered(asked);
        assert!(pace.forgives(&broken, Instant::now()));
    }

    #[test]
    fn poll_intervals_grow_with_elapsed_and_response_time() {
        let ms = Duration::from_millis;
        for (passed, took, pause) in [
            (0, 0, 1),
            (64, 1, 2),
            (800, 1, 25),
            (60_000, 1, 100),
            (60_000, 900, 900),
            (60_000, 25_000, 1_000),
        ] {
            assert_eq!(pause_after(ms(passed), ms(took), LONGEST_PAUSE), ms(pause));
        }
    }
}

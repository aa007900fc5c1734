//! Waiting for a flare to end, or a group to open.
//!
//! Ctrl-C stops it: it is started without blocking and then polled, since only so is its id known from the start, which
//! Ctrl-C needs to stop it and nothing else. The pauses between the polls grow with the time that has passed, so that a
//! flare of a few milliseconds is seen to end within another, and one of minutes is polled ten times per second.

use std::thread;
use std::time::{Duration, Instant};

use burst_client::{Client, Error as ApiError};

use crate::error::{Error, FlareEnd};
use crate::interrupt::Interrupts;
use crate::output;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Pauses are this part of the time passed.
const PART: u32 = 32;
/// However long an answer took: it may have been the platform that stood still.
const LONGEST_REST: Duration = Duration::from_secs(1);
/// A controller that restarts is back within this time after it was first without an answer, and still knows the
/// flare. What was asked within it may be without an answer for longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// What was asked for when the user wanted to stop may be answered so much later.
const LATE: Duration = Duration::from_secs(5);

/// What is started and then waited for.
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
    /// What is waited for.
    pub kind: Kind,
    /// Ctrl-C.
    pub interrupts: Interrupts,
}

impl Watcher<'_> {
    /// Asks for a start; whether the user wants to stop already is seen when it is waited for.
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

    /// Polls the one of this id until `look` finds what it waits for.
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

    /// Stops it; an error, unless it turns out to have ended by itself.
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

    /// It goes on without its watcher, who must know its name.
    fn lost(&self, cause: ApiError, id: &str) -> Error {
        let (name, look) = (self.kind.name(), self.kind.look());
        let more = format!("; {name} {id} may still be running: see `{look} {id}`");
        Error::With { cause, more }
    }
}

/// The user wanted to stop, and this is what became of it.
fn interrupted(what: &str) -> Error {
    Error::Flare {
        end: FlareEnd::Cancelled,
        sentence: format!("interrupted: {what}"),
    }
}

/// Polls with `look` until it finds what it waits for, with pauses of at most `longest`. Ctrl-C is left to end the
/// command, as it does any program.
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

/// When to poll again.
struct Pace {
    begin: Instant,
    /// Since when it gives no answers.
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

    /// The platform has answered what it was asked then.
    fn answered(&mut self, asked: Instant) {
        self.away = None;
        self.pause = pause_after(self.begin.elapsed(), asked.elapsed(), self.longest);
    }

    /// Whether it may still answer after this, which came of what it was asked then.
    fn forgives(&mut self, error: &Error, asked: Instant) -> bool {
        self.pause = self.longest;
        let away = *self.away.get_or_insert_with(Instant::now);
        let transient = matches!(error, Error::Api(error) if error.is_transient());
        transient && asked.saturating_duration_since(away) < PATIENCE
    }
}

/// Long answers are asked for less often, whatever the time.
fn pause_after(passed: Duration, answer_took: Duration, longest: Duration) -> Duration {
    (passed / PART)
        .clamp(FIRST_PAUSE, longest)
        .max(answer_took.min(LONGEST_REST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_that_has_answered_has_some_time_to_come_back_after_its_first_missing_answer() {
        let broken = Error::Api(burst_client::Error::Broken {
            host: "h".to_owned(),
            cause: "reset".to_owned(),
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
    fn pauses_grow_with_the_time_and_with_the_answers() {
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

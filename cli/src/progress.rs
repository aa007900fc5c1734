//! What a waiting user sees on a terminal: a line per flare or build, gone when it is over.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::api::{Flare, State};
use crate::{output, visible};

const TICK: Duration = Duration::from_millis(100);
const BAR: &str = "{prefix} [{bar:30}] {pos}/{len} done, {msg} ({elapsed})";
const SPINNER: &str = "{spinner} {msg} ({elapsed})";

/// A line on standard error that shows how far something is; nothing without a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over the workers of a flare.
    pub fn flare(name: &str, size: u64, verbose: bool) -> Self {
        Self::start(size, BAR, verbose, |bar| {
            bar.set_prefix(visible::line(name).into_owned());
            bar.set_message("queued");
        })
    }

    /// A spinner beside a text.
    pub fn spinner(message: String, verbose: bool) -> Self {
        Self::start(0, SPINNER, verbose, |bar| {
            bar.set_message(visible::line(&message).into_owned())
        })
    }

    fn start(size: u64, template: &str, verbose: bool, label: impl FnOnce(&ProgressBar)) -> Self {
        // A trace and a line that is redrawn would garble each other.
        if verbose || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(size);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        label(&bar);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Shows where the flare's workers are.
    pub fn update(&self, flare: &Flare) {
        let counts = Counts::of(flare);
        self.0.set_position(counts.done.into());
        self.0.set_message(counts.message(flare));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How many workers are where.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    pending: u32,
    running: u32,
    done: u32,
}

impl Counts {
    fn of(flare: &Flare) -> Self {
        let mut counts = Self {
            pending: 0,
            running: 0,
            done: 0,
        };
        for worker in &flare.workers {
            match worker.state {
                State::Running => counts.running += 1,
                state if state.is_final() => counts.done += 1,
                _ => {}
            }
        }
        // While the flare is queued no worker need be listed.
        counts.pending = flare.size.saturating_sub(counts.running + counts.done);
        counts
    }

    fn message(&self, flare: &Flare) -> String {
        let workers = format!("{} running, {} pending", self.running, self.pending);
        match (flare.state, &flare.queue) {
            (State::Queued, Some(standing)) => {
                let start = standing.start.map_or_else(String::new, |at| {
                    format!(", start expected {}", output::time(at))
                });
                format!("queued at position {}{start}", standing.position)
            }
            (state @ (State::Queued | State::Placing | State::Starting), _) => {
                format!("{workers}, {}", state.name())
            }
            _ => workers,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn workers_are_counted_by_state() {
        let mut flare: Flare = serde_json::from_str(
            r#"{"flareId":"f","name":"n","version":"1","state":"running","size":5,"created":0,
                "workers":[{"worker":0,"state":"running"},{"worker":1,"state":"succeeded"},
                           {"worker":2,"state":"failed"},{"worker":3,"state":"pending"}]}"#,
        )
        .unwrap();
        let counts = Counts::of(&flare);
        assert_eq!(
            counts,
            Counts {
                pending: 2,
                running: 1,
                done: 2
            }
        );
        assert_eq!(counts.message(&flare), "1 running, 2 pending");
        flare.state = State::Queued;
        assert_eq!(counts.message(&flare), "1 running, 2 pending, queued");
        flare.queue = serde_json::from_str(r#"{"position":2,"start":null}"#).unwrap();
        assert_eq!(counts.message(&flare), "queued at position 2");
    }
}

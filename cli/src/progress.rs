//! Progress for a user who waits at a terminal: a line per flare or build, removed when it is over.

use std::io::{self, IsTerminal};
use std::time::{Duration, SystemTime};

use burst_client::{Flare, FlareState, Queue, Worker, WorkerState};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{times, visible};

const TICK: Duration = Duration::from_millis(100);
const BAR: &str = "{prefix} [{bar:16}] {pos}/{len} done, {msg} ({elapsed})";
const QUEUED: &str = "{prefix} {msg} ({elapsed})";
const SPINNER: &str = "{spinner} {msg} ({elapsed})";

/// A line on standard error that shows the progress of something; nothing without a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar over the workers of a flare.
    pub fn flare(name: &str, size: u64, verbose: bool) -> Self {
        Self::start(size, QUEUED, verbose, |bar| {
            bar.with_prefix(visible::line(name).into_owned())
                .with_message("queued")
        })
    }

    /// A spinner beside a text.
    pub fn spinner(message: String, verbose: bool) -> Self {
        Self::start(0, SPINNER, verbose, |bar| {
            bar.with_message(visible::line(&message).into_owned())
        })
    }

    fn start(
        size: u64,
        template: &str,
        verbose: bool,
        label: impl FnOnce(ProgressBar) -> ProgressBar,
    ) -> Self {
        // A trace and a line that is redrawn would garble each other.
        if verbose || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        // Labelled before it is first drawn.
        let bar = label(ProgressBar::new(size).with_style(style(template)));
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Hides the line while something else writes.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// Shows how many workers of the flare are in which state.
    pub fn update(&self, flare: &Flare) {
        let counts = Counts::of(flare.size, &flare.workers);
        let message = counts.message(&flare.state, flare.queue.as_ref(), SystemTime::now());
        let template = match flare.state {
            FlareState::Queued => QUEUED,
            _ => BAR,
        };
        self.0.set_style(style(template));
        self.0.set_position(counts.done.into());
        self.0.set_message(message);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The number of workers in each state.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    pending: u32,
    running: u32,
    done: u32,
}

impl Counts {
    fn of(size: u32, workers: &[Worker]) -> Self {
        let mut counts = Self {
            pending: 0,
            running: 0,
            done: 0,
        };
        for worker in workers {
            match worker.state {
                WorkerState::Running => counts.running += 1,
                WorkerState::Succeeded | WorkerState::Failed | WorkerState::Cancelled => {
                    counts.done += 1;
                }
                WorkerState::Pending | WorkerState::Unknown(_) => {}
            }
        }
        // While the flare is queued, its workers need not be listed.
        counts.pending = size.saturating_sub(counts.running + counts.done);
        counts
    }

    fn message(&self, state: &FlareState, queue: Option<&Queue>, now: SystemTime) -> String {
        let workers = format!("{} running, {} pending", self.running, self.pending);
        match (state, queue) {
            (FlareState::Queued, Some(queue)) => {
                let start = queue.start.map_or_else(String::new, |at| {
                    format!(", start expected {}", times::until(now, at))
                });
                format!("queued at position {}{start}", queue.position)
            }
            (FlareState::Queued, None) => "queued".into(),
            (FlareState::Placing | FlareState::Starting, _) => {
                format!("{workers}, {state}")
            }
            _ => workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted_by_state() {
        let worker = |(worker, state)| Worker {
            worker,
            pack: None,
            state,
            started: None,
            ended: None,
            error: None,
        };
        let states = [
            WorkerState::Running,
            WorkerState::Succeeded,
            WorkerState::Failed,
            WorkerState::Pending,
        ];
        let workers: Vec<Worker> = (0..).zip(states).map(worker).collect();
        let counts = Counts::of(5, &workers);
        assert_eq!(
            counts,
            Counts {
                pending: 2,
                running: 1,
                done: 2
            }
        );
        let now = SystemTime::UNIX_EPOCH;
        let message = |state| counts.message(&state, None, now);
        assert_eq!(message(FlareState::Running), "1 running, 2 pending");
        assert_eq!(
            message(FlareState::Starting),
            "1 running, 2 pending, starting"
        );
        assert_eq!(message(FlareState::Queued), "queued");
        for (start, expected) in [
            (None, "queued at position 2"),
            (
                Some(now + Duration::from_micros(5_400_000)),
                "queued at position 2, start expected in about 6 s",
            ),
        ] {
            let queue = Queue {
                position: 2,
                start,
                waits_for: None,
                reason: None,
            };
            let message = counts.message(&FlareState::Queued, Some(&queue), now);
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn progress_templates_are_valid() {
        for template in [BAR, QUEUED, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}

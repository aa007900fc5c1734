//! What a program says, made to fit: it may speak past the SDK, and what is wrong with its events
//! must not become a fault of those who pass them on.

use burst::protocol::{Failure, MESSAGE, PHASE_NAME, PackEvent, RunPack, now};

use crate::limits;

/// What there is in a flare to be spoken of.
#[derive(Debug)]
pub(crate) struct Checks {
    workers: u32,
    packs: u32,
    pack: u32,
}

impl Checks {
    pub(crate) fn new(run: &RunPack) -> Self {
        Self {
            workers: run.pack_sizes.iter().sum(),
            packs: u32::try_from(run.pack_sizes.len()).unwrap_or(u32::MAX),
            pack: run.pack,
        }
    }

    /// The event with times that can be and texts that are not too long. The error says why it cannot
    /// be passed on at all.
    pub(crate) fn fit(&self, mut event: PackEvent) -> Result<PackEvent, String> {
        match &mut event {
            PackEvent::Ready { endpoint, .. } => {
                let limit = limits::ENDPOINT;
                if endpoint.as_ref().is_some_and(|text| text.len() > limit) {
                    return Err(format!("its endpoint has more than {limit} bytes"));
                }
            }
            PackEvent::Phase { name, .. } => cut(name, PHASE_NAME),
            PackEvent::WorkerFailed { worker, error, .. } => {
                self.fit_failure(error);
                error.worker.get_or_insert(*worker);
                error.pack.get_or_insert(self.pack);
            }
            PackEvent::PackEnded {
                error: Some(error), ..
            } => self.fit_failure(error),
            PackEvent::WorkerStarted { .. }
            | PackEvent::Log { .. }
            | PackEvent::WorkerSucceeded { .. }
            | PackEvent::PackEnded { error: None, .. } => {}
        }
        let at = time_of(&mut event);
        // The program's clock is this one.
        let now = now();
        if at.abs_diff(now) > limits::SKEW {
            *at = now;
        }
        Ok(event)
    }

    fn fit_failure(&self, failure: &mut Failure) {
        shorten(&mut failure.message, MESSAGE);
        for text in [&mut failure.operation, &mut failure.invoker]
            .into_iter()
            .flatten()
        {
            cut(text, limits::NAME);
        }
        failure.worker = failure.worker.filter(|&worker| worker < self.workers);
        failure.pack = failure.pack.filter(|&pack| pack < self.packs);
    }
}

fn time_of(event: &mut PackEvent) -> &mut u64 {
    match event {
        PackEvent::Ready { at, .. }
        | PackEvent::WorkerStarted { at, .. }
        | PackEvent::Phase { at, .. }
        | PackEvent::Log { at, .. }
        | PackEvent::WorkerSucceeded { at, .. }
        | PackEvent::WorkerFailed { at, .. }
        | PackEvent::PackEnded { at, .. } => at,
    }
}

fn cut(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
}

/// Cuts a sentence and lets it be seen that it was.
pub(crate) fn shorten(text: &mut String, limit: usize) {
    if text.len() > limit {
        cut(text, limit);
        text.push('…');
    }
}

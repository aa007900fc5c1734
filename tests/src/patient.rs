//! A client that gets its answers whatever happens to the controllers: it retries, with idempotency keys.

use std::thread;
use std::time::{Duration, Instant};

use burst_client::{Accepted, Flare};
use reqwest::Method;
use serde_json::Value;

use crate::counted::{NAME, Order, Runs};
use crate::{Answer, Api, wait};

/// Longer than a blocking request can take.
const ANSWER_LIMIT: Duration = Duration::from_secs(150);
/// The time from the first try to an answer: no outage of the scheduler lasts longer.
const LIMIT: Duration = Duration::from_secs(300);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A client that retries. Unexpected answers are returned as errors: a sentence.
#[derive(Debug)]
pub struct Patient {
    apis: Vec<Api>,
    turn: usize,
    /// How many requests it had to repeat.
    pub repeats: usize,
    /// The longest time from a first try to an answer, among calls that do not wait for a flare.
    pub longest: Duration,
}

impl Patient {
    /// Creates a client that asks these controllers in turn, beginning with the one of this index.
    pub fn new(apis: Vec<Api>, first: usize) -> Self {
        Self {
            apis,
            turn: first,
            repeats: 0,
            longest: Duration::ZERO,
        }
    }

    /// Starts a flare, with a key derived from its number. With `blocking` it waits until the flare ends, as long as
    /// the platform allows and the controller lives.
    pub fn start(&mut self, order: &Order, runs: &Runs, blocking: bool) -> Result<String, String> {
        let path = format!("bursts/{NAME}?blocking={blocking}");
        let key = format!("flare-{}", order.number());
        let body = order.body(runs);
        let answer = self.ask(Method::POST, &path, Some((&key, &body)), blocking)?;
        match answer.status {
            202 => read::<Accepted>(answer).map(|accepted| accepted.flare_id),
            200 | 502 if blocking => {
                let flare = read::<Flare>(answer)?;
                let now = self.flare(&flare.flare_id)?;
                match flare.state.is_final() && flare.state == now.state {
                    true => Ok(flare.flare_id),
                    false => Err(format!("answered as {flare:#?}\nand now it is {now:#?}")),
                }
            }
            _ => Err(format!("{order:?} is answered {answer:?}")),
        }
    }

    /// Requests a flare's cancellation. An answer that it has already ended is fine, too.
    pub fn cancel(&mut self, id: &str) -> Result<(), String> {
        let answer = self.ask(Method::DELETE, &format!("flares/{id}"), None, false)?;
        match answer.status {
            202 | 409 => Ok(()),
            _ => Err(format!("{id} is cancelled: {answer:?}")),
        }
    }

    /// A flare's present state.
    pub fn flare(&mut self, id: &str) -> Result<Flare, String> {
        self.get(&format!("flares/{id}")).and_then(read)
    }

    /// Waits until a flare ends.
    pub fn ended(&mut self, id: &str, limit: Duration) -> Result<Flare, String> {
        let mut last = None;
        let ended = wait::within(limit, || match self.flare(id) {
            Ok(flare) if !flare.state.is_final() => {
                last = Some(flare);
                None
            }
            other => Some(other),
        });
        ended.unwrap_or_else(|| Err(format!("waited {limit:?} in vain for the end of {last:#?}")))
    }

    /// Checks the outcome of an ended flare; the error describes how it differs from the expected one.
    pub fn check_outcome(&mut self, order: &Order, flare: &Flare) -> Result<(), String> {
        match order.failure() {
            None => {
                if flare.state != "succeeded" {
                    return Err(format!("it was to succeed: {flare:#?}"));
                }
                let result = self.get(&format!("flares/{}/result", flare.flare_id))?;
                match result.status == 200 && result.json["outputs"] == order.outputs() {
                    true => Ok(()),
                    // The outputs can be megabytes.
                    false => Err(format!("{order:?} put out {:.2000}", result.text)),
                }
            }
            Some((worker, reason)) => {
                let own = flare.error.as_ref().is_some_and(|error| {
                    error.kind == "error"
                        && error.worker == Some(worker)
                        && error.message.contains(&reason)
                });
                match flare.state == "failed" && own {
                    true => Ok(()),
                    false => Err(format!("worker {worker} was to say {reason:?}: {flare:#?}")),
                }
            }
        }
    }

    fn get(&mut self, path: &str) -> Result<Answer, String> {
        self.ask(Method::GET, path, None, false)
    }

    /// Asks one controller after another until one that lacks nothing answers.
    fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
        blocking: bool,
    ) -> Result<Answer, String> {
        let began = Instant::now();
        let path = format!("namespaces/_/{path}");
        let mut again = false;
        loop {
            let tried = self.attempt(method.clone(), &path, body)?;
            let took = began.elapsed();
            match tried {
                Tried::Answered(answer) => {
                    if !blocking {
                        self.longest = self.longest.max(took);
                    }
                    return Ok(answer);
                }
                Tried::InVain(why) if took > LIMIT => {
                    return Err(format!(
                        "{method} {path}: no answer in {took:?}, last {why}"
                    ));
                }
                Tried::InVain(_) => {
                    self.repeats += usize::from(!again);
                    again = true;
                    thread::sleep(PAUSE);
                }
            }
        }
    }

    fn attempt(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Tried, String> {
        let api = &self.apis[self.turn % self.apis.len()];
        self.turn += 1;
        let mut request = api.request(method, path).timeout(ANSWER_LIMIT);
        if let Some((key, body)) = body {
            request = request.header("Idempotency-Key", key).json(body);
        }
        let answer = request.send().and_then(|answer| {
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            answer.text().map(|text| (status, headers, text))
        });
        match answer {
            Err(cause) if cause.is_timeout() => Err(format!("{path} is not answered: {cause:?}")),
            Err(cause) => Ok(Tried::InVain(format!("{cause:?}"))),
            Ok((503, headers, text)) if headers.contains_key("Retry-After") => {
                Ok(Tried::InVain(text))
            }
            Ok((status, _, text)) => {
                let json = serde_json::from_str(&text).unwrap_or(Value::Null);
                Ok(Tried::Answered(Answer { status, json, text }))
            }
        }
    }
}

/// The outcome of one try.
enum Tried {
    Answered(Answer),
    /// The connection broke, or the controller temporarily lacked something.
    InVain(String),
}

fn read<T: serde::de::DeserializeOwned>(answer: Answer) -> Result<T, String> {
    serde_json::from_value(answer.json.clone())
        .map_err(|cause| format!("{cause}, in {} {}", answer.status, answer.text))
}

//! Starting flares, and what their states mean.

use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::answer::Answer;
use crate::call::Call;
use crate::causes::AnswerError;
use crate::client::Client;
use crate::error::Error;
use crate::model::{Accepted, FlareResult, FlareState, Output};

/// The outcome of a request that waits for its flare.
#[derive(Debug, Clone)]
pub enum Waited {
    /// The flare has ended, successfully or not: see its `state`.
    Ended(Answer<FlareResult>),
    /// The flare is still running: it takes longer than the platform lets a request wait.
    Accepted(Answer<Accepted>),
}

/// `request` is a [`FlareRequest`](crate::FlareRequest) or a [`GroupFlareRequest`](crate::GroupFlareRequest), or
/// serializes as one. The platform rejects a field that it does not know, and names it.
impl Client {
    /// Starts a flare of the definition of this name.
    pub fn flare(
        &self,
        name: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Accepted>, Error> {
        self.answer(start(&self.below("bursts", name), request)?)
    }

    /// Starts a flare on the packs of the group of this id.
    pub fn flare_on_group(
        &self,
        id: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Accepted>, Error> {
        self.answer(start(&self.below("groups", id), request)?)
    }

    /// Starts a flare of the definition of this name and waits for its end, for as long as the platform lets a request
    /// wait: give the client a [time-out](crate::Builder::timeout) that is longer than that.
    pub fn flare_and_wait(
        &self,
        name: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Waited, Error> {
        self.wait(start(&self.below("bursts", name), request)?)
    }

    /// Does the same on the packs of a group.
    pub fn flare_on_group_and_wait(
        &self,
        id: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Waited, Error> {
        self.wait(start(&self.below("groups", id), request)?)
    }

    fn wait(&self, call: Call<'_>) -> Result<Waited, Error> {
        let call = call
            .query("blocking", Some(true))
            .query("result", Some(true));
        self.repeating(call, |call| self.waited(call))
    }

    fn waited(&self, call: Call<'_>) -> Result<Waited, Error> {
        let response = self.exchange(call)?;
        match response.status() {
            StatusCode::ACCEPTED => Ok(Waited::Accepted(self.body(response).text()?)),
            StatusCode::OK => Ok(Waited::Ended(self.body(response).text()?)),
            // Either the flare failed, or a proxy before the platform did.
            status @ StatusCode::BAD_GATEWAY => {
                let answer: Answer<FlareResult> = self.body(response).unchecked()?;
                match answer.read() {
                    Ok(_) => Ok(Waited::Ended(answer)),
                    Err(_) => Err(Error::refused(status, answer.text().as_bytes())),
                }
            }
            _ => Err(self.refusal(response)),
        }
    }
}

fn start<'a>(path: &'a [&'a str], request: &(impl Serialize + ?Sized)) -> Result<Call<'a>, Error> {
    Call::new(Method::POST, path).body(request)?.once()
}

impl FlareState {
    /// Whether the flare has ended. A state that this version does not know counts as not final.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::TimedOut
        )
    }
}

impl Output {
    /// Reads what the work function returned, if it has returned.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let read = |output: &RawValue| serde_json::from_str(output.get());
        let value = self.output.as_deref().map(read).transpose();
        Ok(value.map_err(AnswerError::from)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn unknown_states_are_kept_and_not_final() {
        let state: FlareState = serde_json::from_str("\"meditating\"").unwrap();
        assert!(!state.is_final());
        assert_eq!(serde_json::to_string(&state).unwrap(), "\"meditating\"");
        let state: FlareState = serde_json::from_str("\"timed-out\"").unwrap();
        assert_eq!(state, FlareState::TimedOut);
        assert!(state.is_final());
    }

    #[test]
    fn null_outputs_differ_from_missing_ones_and_numbers_keep_all_digits() {
        let read = |text| serde_json::from_str::<Output>(text).unwrap().output;
        let text = |text| read(text).map(|output| output.get().to_owned());
        assert_eq!(
            text(r#"{"worker":0,"output":null}"#).as_deref(),
            Some("null")
        );
        assert_eq!(
            text(r#"{"worker":0,"output":12345678901234567890123}"#).as_deref(),
            Some("12345678901234567890123")
        );
        assert!(read(r#"{"worker":0}"#).is_none());
    }
}

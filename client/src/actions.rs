//! The operations on actions that are not generated: a call of an action answers any JSON, also with a status of
//! failure, and the list of a package's actions differs from an action in the slash at the end of its path.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::Answer;
use crate::call::Call;
use crate::calls::ListActionsQuery;
use crate::client::Client;
use crate::error::Error;
use crate::model::AcceptedActivation;

/// Optional parameters of [`Client::invoke`] and [`Client::invoke_of_package`].
#[derive(Debug, Clone, Copy, Default)]
pub struct InvokeQuery {
    /// Waits until the call has ended, for a minute at most: give the client a [time-out](crate::Builder::timeout) that
    /// is longer than that.
    pub blocking: Option<bool>,
    /// Returns only the result of the call, instead of its record.
    pub result: Option<bool>,
}

/// The outcome of a call of an action.
#[derive(Debug, Clone)]
pub enum Invoked {
    /// The action succeeded. The answer is an [`Activation`](crate::Activation), or only the result.
    Succeeded(Answer<Box<RawValue>>),
    /// The action failed; the platform did not.
    Failed {
        /// HTTP status.
        status: u16,
        /// An [`Activation`](crate::Activation), or only the result.
        answer: Answer<Box<RawValue>>,
    },
    /// The action is still running, or the caller did not want to wait for it.
    Accepted(Answer<AcceptedActivation>),
}

impl Client {
    /// Calls an action. `request` serializes as an object: the arguments.
    pub fn invoke(
        &self,
        name: &str,
        query: &InvokeQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Invoked, Error> {
        self.invoke_at(&self.below("actions", name), query, request)
    }

    /// Calls an action of a package. `request` serializes as an object: the arguments.
    pub fn invoke_of_package(
        &self,
        package: &str,
        name: &str,
        query: &InvokeQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Invoked, Error> {
        let package = self.below("actions", package);
        self.invoke_at(&[&package[..], &[name]].concat(), query, request)
    }

    /// The actions of a package, most recently changed first.
    pub fn list_actions_of_package(
        &self,
        package: &str,
        query: &ListActionsQuery,
    ) -> Result<Answer<Box<RawValue>>, Error> {
        let path = self.below("actions", package);
        let call = Call::new(Method::GET, &path).slash();
        self.answer(
            call.query("limit", query.limit)
                .query("skip", query.skip)
                .query("count", query.count),
        )
    }

    fn invoke_at(
        &self,
        path: &[&str],
        query: &InvokeQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Invoked, Error> {
        let call = Call::new(Method::POST, path)
            .query("blocking", query.blocking)
            .query("result", query.result)
            .body(request)?
            .once()?;
        self.repeating(call, |call| self.invoked(call))
    }

    fn invoked(&self, call: Call<'_>) -> Result<Invoked, Error> {
        let response = self.exchange(call)?;
        match response.status() {
            StatusCode::ACCEPTED => Ok(Invoked::Accepted(self.body(response).text()?)),
            status if status.is_success() => Ok(Invoked::Succeeded(self.body(response).text()?)),
            status @ (StatusCode::INTERNAL_SERVER_ERROR | StatusCode::BAD_GATEWAY) => {
                let answer: Answer<Box<RawValue>> = self.body(response).unchecked()?;
                if is_refusal(answer.text()) {
                    return Err(Error::refused(status, answer.text().as_bytes()));
                }
                let status = status.as_u16();
                Ok(Invoked::Failed { status, answer })
            }
            _ => Err(self.refusal(response)),
        }
    }
}

/// Whether the platform refused the call. A refusal has a code; an action's own failure, with the same status, has none.
fn is_refusal(text: &str) -> bool {
    match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) {
        Ok(fields) => fields.contains_key("error") && fields.contains_key("code"),
        // An array is a result. Anything that is not JSON comes from a proxy in between.
        Err(_) => serde_json::from_str::<Vec<Box<RawValue>>>(text).is_err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_distinguished_from_a_failed_action() {
        for (text, expected) in [
            (r#"{"error":"no","code":"abc"}"#, true),
            (r#"{"error":"the action's own"}"#, false),
            (r#"{"activationId":"1","response":{}}"#, false),
            ("[1,2]", false),
            ("<html>", true),
        ] {
            assert_eq!(is_refusal(text), expected, "{text}");
        }
    }
}

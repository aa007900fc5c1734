//! Feeds: actions that fire a trigger, called when the trigger is created, read, changed or deleted.

use burst_client::{
    Activation, ActivationResult, Error as ApiError, InvokeQuery, Invoked, KeyValue,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::client_context::{ClientContext, unable};
use super::name::Name;
use super::{actions, fields};
use crate::error::Error;
use crate::inputs::{self, Params};

/// The annotation that names a trigger's feed.
pub const ANNOTATION: &str = "feed";

/// The status of an action whose result is an error, such as a feed that rejects a request.
const OWN_ERROR: &str = "application error";

/// What happens to a trigger.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// It was created.
    Create,
    /// A caller requests what the feed does.
    Read,
    /// Its feed's parameters change.
    Update,
    /// It is deleted.
    Delete,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Returns the feed of a trigger, if any.
pub fn of(annotations: &[KeyValue]) -> Option<String> {
    fields::text(annotations, ANNOTATION).filter(|feed| !feed.is_empty())
}

/// Notifies the feed of a trigger, and returns the activation.
pub fn notify(
    context: &ClientContext,
    feed: &str,
    event: Event,
    trigger: &Name,
    params: &Params,
) -> Result<String, Error> {
    let what = format!(
        "invoke feed '{feed}' to {} trigger '{}'",
        event.name(),
        trigger.name
    );
    let name = Name::parse(feed, &context.namespace)?;
    let mut body = params.clone();
    for (key, value) in [
        ("lifecycleEvent", event.name()),
        ("triggerName", &trigger.qualified()),
        ("authKey", context.auth()),
    ] {
        body.insert(key.into(), inputs::json(value)?);
    }
    let query = InvokeQuery {
        blocking: Some(true),
        result: Some(false),
    };
    match actions::invoke(context, &name, &query, &body).map_err(unable(&what))? {
        Invoked::Succeeded(answer) => Ok(answer.into_text()),
        Invoked::Accepted(answer) => {
            let id = answer.read().map_err(unable(&what))?.activation_id;
            Err(refused(&what, 202, format!("activation {id} goes on")))
        }
        Invoked::Failed { status, answer } => {
            let record: Activation = answer.cast().read().map_err(unable(&what))?;
            let ActivationResult {
                status: end,
                result,
                ..
            } = record.response;
            let why = format!("{} (activation {})", why(result), record.activation_id);
            if end == OWN_ERROR {
                return Err(Error::FeedRefused { what, why, status });
            }
            Err(refused(&what, status, why))
        }
    }
}

fn refused(what: &str, status: u16, message: String) -> Error {
    unable(what)(ApiError::Refused {
        status,
        message,
        code: None,
    })
}

/// The answer of a failed action, which is the action's own and not the API's.
#[derive(Deserialize)]
struct Failure {
    error: Box<RawValue>,
}

fn why(result: Box<RawValue>) -> String {
    let failure = serde_json::from_str::<Failure>(result.get());
    let error = failure.map_or(result, |failure| failure.error);
    serde_json::from_str(error.get()).unwrap_or_else(|_| error.get().to_owned())
}

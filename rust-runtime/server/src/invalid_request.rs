//! Reasons to reject a request.

use base64::DecodeError;
use burst_protocol::{InvalidVersions, VERSIONS_HEADER};
use serde_json::error::Category;

use crate::concurrency::InvalidConcurrency;
use crate::kind::UnknownKind;

/// The form of the body of `/init`.
const INIT: &str = r#"{"value":{"path":…}} or {"value":{"code":…}}"#;

/// Why a request is not of the form that its call takes. Its content is not quoted, as inputs may
/// be secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The body is cut short.
    #[error("the body did not arrive completely")]
    Incomplete,
    /// The body is not JSON, or not of the expected form: the parser's message, without the values
    /// in it.
    #[error("{0}")]
    Json(String),
    /// The query is not of this form.
    #[error("the query is not {0}")]
    Query(&'static str),
    /// The start timeout, within which a program must report, cannot be read.
    #[error("startTimeout is not a number of milliseconds")]
    StartTimeout,
    /// The versions that the invoker speaks cannot be read.
    #[error("{VERSIONS_HEADER}: {0}")]
    Versions(#[from] InvalidVersions),
    /// The body of `/init` is not JSON, or not of the form that names a package.
    #[error("the body is not {INIT}: {0:?} error")]
    Init(Category),
    /// The body of `/init` names no package, or two.
    #[error("the body is not {INIT}")]
    NoPackage,
    /// The package in the body cannot be decoded.
    #[error("`code` is not base64: {0}")]
    Base64(#[from] DecodeError),
    /// Packages of this kind cannot run here.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// Packages of this kind are run without an interpreter.
    #[error("no interpreter runs `{0:.40}`")]
    NoInterpreter(String),
    /// A program cannot run this many flares at once.
    #[error(transparent)]
    Concurrency(#[from] InvalidConcurrency),
    /// Not all variables can be passed to a program.
    #[error("a variable's name or value is not one")]
    Environment,
    /// The body of `/run` is not a JSON object.
    #[error(r#"the body is not {{"value":…}}"#)]
    Run,
}

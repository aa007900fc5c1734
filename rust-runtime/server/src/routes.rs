//! The runtime's HTTP calls (docs/architecture/runtime.md).

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router, middleware};
use burst_protocol::{Failure, RunPack, without_values};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::access::{self, Access};
use crate::environment::Environment;
use crate::error::Error;
use crate::init::{self, ProgramName};
use crate::invalid_request::InvalidRequest;
use crate::kind::Kind;
use crate::pack::Order;
use crate::package::Package;
use crate::runtime::Runtime;
use crate::{limits, run, versions};

type Received = Result<Bytes, BytesRejection>;

pub(crate) fn routes(runtime: Runtime, access: Access) -> Router {
    let limited = |call: MethodRouter<Runtime>, limit| call.layer(DefaultBodyLimit::max(limit));
    Router::new()
        .route("/ping", get(ping))
        .route("/init", limited(post(initialize), limits::INIT_BODY))
        .route(
            "/environment",
            limited(post(set_environment), limits::ENVIRONMENT_BODY),
        )
        .route("/interpreter", post(start_interpreter))
        .route("/run", limited(post(run_function), limits::RUN_BODY))
        .route("/packs", limited(post(run_pack), limits::PACKS_BODY))
        .route(
            "/packs/{flare}/start",
            limited(post(start), limits::ORDER_BODY),
        )
        .route(
            "/packs/{flare}/abort",
            limited(post(abort), limits::ORDER_BODY),
        )
        .route(
            "/packs/{flare}/lease",
            limited(post(renew), limits::ORDER_BODY),
        )
        .with_state(runtime)
        .layer(middleware::from_fn(versions::check))
        .layer(middleware::from_fn_with_state(access, access::check))
}

async fn ping() -> Response {
    fine()
}

/// How long a program may take to report, in milliseconds: on a busy machine an interpreter starts slowly.
#[derive(Deserialize)]
struct StartTimeout {
    #[serde(rename = "startTimeout")]
    millis: Option<u64>,
}

impl StartTimeout {
    fn of(query: Result<Query<Self>, QueryRejection>) -> Result<Duration, Error> {
        let Query(Self { millis }) = query.map_err(|_| InvalidRequest::StartTimeout)?;
        Ok(millis.map_or(limits::START, Duration::from_millis))
    }
}

/// Starts a program. A package sent as a binary body has a content type of its own; any other body is JSON.
async fn initialize(
    State(runtime): State<Runtime>,
    patience: Result<Query<StartTimeout>, QueryRejection>,
    program: Result<Query<ProgramName>, QueryRejection>,
    request: Request,
) -> Result<Response, Error> {
    let sent = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|form| form == "application/octet-stream");
    let form = |_| InvalidRequest::Query("kind=KIND&main=NAME&concurrency=NUMBER");
    let Query(program) = program.map_err(form)?;
    let patience = StartTimeout::of(patience)?;
    let package = if sent {
        let package = init::receive(request.into_body()).await?;
        unpacked(move || init::unpack(package, program)).await?
    } else {
        let body = Bytes::from_request(request, &()).await;
        let body = accept(body, limits::INIT_BODY)?;
        unpacked(move || init::package(&body, program)).await?
    };
    runtime.init(package, patience).await?;
    Ok(fine())
}

async fn set_environment(
    State(runtime): State<Runtime>,
    body: Received,
) -> Result<StatusCode, Error> {
    let environment: Environment = parse(&accept(body, limits::ENVIRONMENT_BODY)?)?;
    if !environment.can_be_passed() {
        return Err(InvalidRequest::Environment.into());
    }
    runtime.set_environment(environment)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Interpreted {
    kind: String,
}

async fn start_interpreter(
    State(runtime): State<Runtime>,
    program: Result<Query<Interpreted>, QueryRejection>,
) -> Result<StatusCode, Error> {
    let form = |_| InvalidRequest::Query("kind=KIND");
    let Query(Interpreted { kind }) = program.map_err(form)?;
    let Kind::Script(language) = Kind::parse(&kind).map_err(InvalidRequest::Kind)? else {
        return Err(InvalidRequest::NoInterpreter(kind).into());
    };
    runtime.start_interpreter(language)?;
    Ok(StatusCode::ACCEPTED)
}

async fn unpacked(
    package: impl FnOnce() -> Result<Package, Error> + Send + 'static,
) -> Result<Package, Error> {
    let lost = |_| Err(Error::Interrupted("unpacking"));
    tokio::task::spawn_blocking(package)
        .await
        .unwrap_or_else(lost)
}

async fn run_function(State(runtime): State<Runtime>, body: Received) -> Result<Response, Error> {
    let body = accept(body, limits::RUN_BODY)?;
    Ok(Json(run::run(&runtime, &body).await?).into_response())
}

/// The package of a program that has to be started first.
#[derive(Deserialize)]
struct Fresh {
    init: Option<PathBuf>,
    #[serde(flatten)]
    program: ProgramName,
}

async fn run_pack(
    State(runtime): State<Runtime>,
    patience: Result<Query<StartTimeout>, QueryRejection>,
    fresh: Result<Query<Fresh>, QueryRejection>,
    body: Received,
) -> Result<Response, Error> {
    let request: RunPack = parse(&accept(body, limits::PACKS_BODY)?)?;
    let Query(Fresh { init, program }) = fresh.map_err(|_| {
        InvalidRequest::Query("init=DIRECTORY&kind=KIND&main=NAME&concurrency=NUMBER")
    })?;
    let patience = StartTimeout::of(patience)?;
    let starting = async {
        match init {
            Some(path) => {
                let package = unpacked(move || init::at(&path, program)).await?;
                runtime.init(package, patience).await
            }
            None => Ok(()),
        }
    };
    let ((), request) = tokio::try_join!(starting, runtime.issue_credentials(request))?;
    let alone = request.autostart;
    let mut lines = runtime.run(request).await?;
    // The response of a short function is sent as a whole.
    let first = match alone {
        true => tokio::time::timeout(limits::ANSWER, lines.recv())
            .await
            .ok(),
        false => None,
    };
    let rest = stream::poll_fn(move |context| lines.poll_recv(context));
    let lines = stream::iter(first.flatten()).chain(rest);
    let lines = lines.map(Ok::<_, Infallible>);
    Ok((
        [(header::CONTENT_TYPE, "application/x-ndjson")],
        Body::from_stream(lines),
    )
        .into_response())
}

async fn start(
    State(runtime): State<Runtime>,
    Path(flare): Path<String>,
    body: Received,
) -> Result<StatusCode, Error> {
    #[derive(Deserialize)]
    struct Start {
        endpoints: Vec<Option<String>>,
    }
    let Start { endpoints } = parse(&accept(body, limits::ORDER_BODY)?)?;
    // Backends with a server have no endpoints: null stands in for them.
    let endpoints = endpoints
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    runtime.order(&flare, Order::Start(endpoints)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn abort(
    State(runtime): State<Runtime>,
    Path(flare): Path<String>,
    body: Received,
) -> Result<StatusCode, Error> {
    let failure: Failure = parse(&accept(body, limits::ORDER_BODY)?)?;
    runtime.order(&flare, Order::Abort(failure)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn renew(
    State(runtime): State<Runtime>,
    Path(flare): Path<String>,
    body: Received,
) -> Result<StatusCode, Error> {
    #[derive(Deserialize)]
    struct Lease {
        millis: u64,
    }
    let Lease { millis } = parse(&accept(body, limits::ORDER_BODY)?)?;
    let time = Duration::from_millis(millis);
    runtime.order(&flare, Order::Renew(time)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn fine() -> Response {
    Json(serde_json::json!({ "ok": true })).into_response()
}

fn accept(body: Received, limit: usize) -> Result<Bytes, Error> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge { limit: limit >> 20 },
        _ => InvalidRequest::Incomplete.into(),
    })
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, InvalidRequest> {
    serde_json::from_slice(body)
        .map_err(|error| InvalidRequest::Json(without_values(&error.to_string())))
}

//! `POST /run`: OpenWhisk's single function, as a flare of one worker.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use burst_protocol::{
    BackendConfig, FailureKind, Inputs, Invocation, LogStream, OutputEvent, PackEvent, PackId,
    RunPack, Secret, Timestamp,
};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::invalid_request::InvalidRequest;
use crate::limits;
use crate::logs::SENTINEL;
use crate::runtime::Runtime;

/// Runs the function on one input, and returns its output or why there is none.
pub(crate) async fn run(runtime: &Runtime, body: &[u8]) -> Result<Box<RawValue>, Error> {
    let result = activate(runtime, body).await;
    println!("{SENTINEL}");
    eprintln!("{SENTINEL}");
    result
}

async fn activate(runtime: &Runtime, body: &[u8]) -> Result<Box<RawValue>, Error> {
    let mut body: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(body).map_err(|_| InvalidRequest::Run)?;
    let value = body.remove("value");
    let mut told: BTreeMap<_, _> = (body.into_iter())
        .filter_map(|(name, value)| Some((name, text(&value)?)))
        .collect();
    let deadline = told.remove("deadline").and_then(|text| text.parse().ok());
    let default = || Timestamp::from(SystemTime::now() + limits::RUN);
    let flare_id = told.get("activation_id").cloned().unwrap_or_else(|| {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        format!("{:032x}", now.as_nanos())
    });
    let lines = runtime.run(RunPack {
        flare_id,
        pack: PackId(0),
        pack_sizes: vec![1],
        inputs: Inputs::Shared(value.unwrap_or_else(|| RawValue::NULL.to_owned())),
        backend: BackendConfig::new("direct"),
        secret: Secret::default(),
        advertise: "127.0.0.1".to_owned(),
        deadline: deadline.map_or_else(default, |millis: u64| {
            Timestamp::from_micros(millis.saturating_mul(1000))
        }),
        group: None,
        autostart: true,
        lease: None,
        memory: None,
        invocation: Invocation(told),
        trace: None,
        log_limit: None,
    });
    let mut lines = lines.await?;
    let mut result = Err(Error::NoOutput);
    let mut output = String::new();
    while let Some(chunk) = lines.recv().await {
        for line in chunk
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            // The runtime wrote these lines itself.
            match serde_json::from_slice(line) {
                Ok(OutputEvent::Output { text, .. }) => {
                    output.push_str(&text);
                    continue;
                }
                Ok(OutputEvent::WorkerSucceeded { output: last, .. }) => {
                    output.push_str(&last);
                    result = RawValue::from_string(std::mem::take(&mut output))
                        .map_err(Error::InvalidOutput);
                    continue;
                }
                Err(_) => {}
            }
            let Ok(event) = serde_json::from_slice(line) else {
                continue;
            };
            match event {
                PackEvent::Log {
                    stream: LogStream::Stdout,
                    text,
                    ..
                } => println!("{text}"),
                PackEvent::Log {
                    stream: LogStream::Stderr,
                    text,
                    ..
                } => eprintln!("{text}"),
                PackEvent::WorkerFailed { error, .. } => {
                    result = Err(match error.kind {
                        FailureKind::Error => Error::Function(error.message),
                        _ => Error::Failed(error),
                    });
                }
                _ => {}
            }
        }
    }
    result
}

/// Returns a detail of the run as text; numbers, such as milliseconds, may be sent as numbers.
fn text(value: &RawValue) -> Option<String> {
    match serde_json::from_str(value.get()).ok()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

//! HTTP calls to the image's server, on the loopback interface.

use std::io;
use std::net::Ipv4Addr;

use burst_protocol::OUTPUT_LIMIT;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The port on which images listen.
pub(super) const PORT: u16 = 8080;

/// The response to a call.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Why there is no response, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("its server cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    #[error("its server did not answer in HTTP: {0}")]
    Http(#[from] hyper::Error),
    #[error("its answer is larger than {} MiB", OUTPUT_LIMIT >> 20)]
    TooLarge,
    #[error("the request cannot be made: {0}")]
    Request(#[from] hyper::http::Error),
}

pub(super) async fn connect() -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Posts JSON on a new connection. Redirects are not followed.
pub(super) async fn post(stream: TcpStream, path: &str, body: Vec<u8>) -> Result<Reply, CallError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(path)
        .header(HOST, format!("127.0.0.1:{PORT}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))?;
    let answered = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = read(response.into_body()).await?;
        Ok::<_, CallError>(Reply { status, body })
    };
    // The call is over with its response, whatever else the server sends.
    tokio::select! {
        biased;
        reply = answered => reply,
        Err(error) = connection => Err(error.into()),
    }
}

/// Reads a body, which may be no longer than an output.
async fn read(mut body: Incoming) -> Result<Bytes, CallError> {
    if body.size_hint().lower() > OUTPUT_LIMIT as u64 {
        return Err(CallError::TooLarge);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            if bytes.len() + data.len() > OUTPUT_LIMIT {
                return Err(CallError::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

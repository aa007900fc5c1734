//! Objects behind HTTP: on any server that answers range requests, including S3 with public or presigned URLs.

use std::io::{self, Read};
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body};

use super::object::Object;
use super::{DataError, shown};

/// How long connecting may take, and how long until a response begins.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct HttpObject {
    location: String,
    agent: Agent,
    size: u64,
}

impl HttpObject {
    /// Requests the first byte: the response contains the size of the whole. (HEAD is not used, since a presigned URL
    /// does not allow it.)
    pub(super) fn open(location: &str) -> Result<Box<dyn Object>, DataError> {
        let agent = Agent::config_builder()
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut remote = Self {
            location: location.to_owned(),
            agent,
            size: 0,
        };
        let answer = remote.get(0, 0)?;
        let range = answer.headers().get(header::CONTENT_RANGE);
        let range = range.and_then(|value| value.to_str().ok()).unwrap_or("");
        let total = range
            .rsplit_once('/')
            .and_then(|(_, total)| total.parse().ok());
        remote.size = match (answer.status(), total) {
            (StatusCode::PARTIAL_CONTENT, Some(size)) => size,
            // The object is empty.
            (StatusCode::RANGE_NOT_SATISFIABLE, None | Some(0)) => 0,
            (status, _) => return Err(remote.refused(status)),
        };
        Ok(Box::new(remote))
    }

    fn get(&self, first: u64, last: u64) -> Result<Response<Body>, DataError> {
        let request = self.agent.get(&self.location);
        let answer = request.header(header::RANGE, format!("bytes={first}-{last}"));
        answer.call().map_err(|error| self.io(error.into_io()))
    }

    fn refused(&self, status: StatusCode) -> DataError {
        let reason = match status {
            StatusCode::OK => "the server does not answer range requests".to_owned(),
            status => format!("the server answers {status}"),
        };
        self.io(io::Error::other(reason))
    }

    fn io(&self, source: io::Error) -> DataError {
        let location = shown(&self.location);
        DataError::Io { location, source }
    }
}

impl Object for HttpObject {
    fn size(&self) -> Result<u64, DataError> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DataError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let answer = self.get(offset, offset + bytes.len() as u64 - 1)?;
        if answer.status() != StatusCode::PARTIAL_CONTENT {
            return Err(self.refused(answer.status()));
        }
        let mut body = answer.into_body().into_reader();
        body.read_exact(bytes).map_err(|error| self.io(error))
    }
}

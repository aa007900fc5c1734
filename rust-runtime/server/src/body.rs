//! Request bodies that must keep arriving: a stalled one is given up.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// A body of which a part must arrive within each `limit`.
pub(crate) struct TimeoutBody {
    body: Body,
    limit: Duration,
    timeout: Pin<Box<Sleep>>,
}

impl TimeoutBody {
    pub(crate) fn new(body: Body, limit: Duration) -> Self {
        Self {
            body,
            limit,
            timeout: Box::pin(sleep(limit)),
        }
    }
}

/// No part of a body has arrived for too long.
#[derive(Debug, thiserror::Error)]
#[error("nothing came of the body for {0:?}")]
struct Stalled(Duration);

impl HttpBody for TimeoutBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            let until = Instant::now() + self.limit;
            self.timeout.as_mut().reset(until);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.timeout.as_mut().poll(context));
        Poll::Ready(Some(Err(Stalled(self.limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use axum::body::to_bytes;
    use futures_util::{StreamExt, stream};

    #[tokio::test]
    async fn a_stalled_body_times_out() {
        let part = || Ok::<_, axum::BoxError>("part");
        let whole = stream::iter([part(), part()]);
        let (still, timeout) = (stream::pending(), Duration::from_millis(10));
        let body = Body::from_stream(stream::iter([part()]).chain(still));
        let reading = to_bytes(Body::new(TimeoutBody::new(body, timeout)), usize::MAX);
        let error = reading.await.unwrap_err().to_string();
        assert!(error.contains("nothing came of the body"), "{error}");
        let timeout = Duration::from_secs(3600);
        let body = Body::new(TimeoutBody::new(Body::from_stream(whole), timeout));
        assert_eq!(to_bytes(body, usize::MAX).await.unwrap(), "partpart");
    }
}
